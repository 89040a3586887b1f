use std::pin::pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::claim::Claim;
use crate::config::StoreConfig;
use crate::connection::Connection;
use crate::database::Database;
use crate::error::{OpenError, StoreError, WorkError};
use crate::queue::Queue;
use crate::reader;
use crate::reserve::Reserve;
use crate::task::{Pending, task};
use crate::writer::Writer;

/// An open database and its threads, which end when this is dropped.
pub(crate) struct Workers {
    config: StoreConfig,
    reads: Arc<Queue>,
    writes: Arc<Queue>,
    /// Limits scans to fewer than the readers, so that other reads do not wait for them.
    scans: Arc<Semaphore>,
    waiting_scans: Semaphore,
    /// Disconnected when all threads have ended.
    running: Mutex<Receiver<()>>,
    /// The faults of the last write and the last read, if any.
    write_problem: Mutex<Option<String>>,
    read_problem: Mutex<Option<String>>,
    /// Present while the database server cannot be reached.
    outage: Arc<Mutex<Option<Outage>>>,
}

/// The time in which the database server cannot be reached.
struct Outage {
    problem: String,
    /// The last attempt to end it without a call.
    last_probe: Instant,
    /// The read of this attempt, which would be abandoned if this were dropped.
    probe: Option<Pending<(), StoreError>>,
}

/// The minimum time between two attempts of [`Workers::problem`] to reach the database server.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

impl Workers {
    /// Creates the database if it is missing, migrates the schema, and starts the threads. Blocks.
    pub(crate) fn start(
        database: Arc<Database>,
        reserve: Arc<Reserve>,
        config: StoreConfig,
        maintain: impl FnMut(&Connection, Duration) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let keeper = database.open()?;
        let permits = |number: usize| Semaphore::new(number.min(Semaphore::MAX_PERMITS));
        let (ended, running) = channel();
        let readers = config.readers.max(1);
        let workers = Self {
            reads: Arc::new(Queue::new(config.read_queue, usize::MAX)),
            writes: Arc::new(Queue::new(config.write_queue, config.write_queue_bytes)),
            scans: Arc::new(permits((readers - 1).max(1))),
            waiting_scans: permits(config.read_queue),
            running: Mutex::new(running),
            write_problem: Mutex::default(),
            read_problem: Mutex::default(),
            outage: Arc::default(),
            config,
        };
        // From here on, an error drops `workers`, which ends the started threads.
        let readers = (0..readers).map(|_| reader::start(&database, &workers.reads, &reserve));
        let readers = readers.collect::<Result<_, _>>()?;
        let writer = Writer {
            queue: Arc::clone(&workers.writes),
            group: workers.config.group,
            maintain,
            connection: None,
            log_limit: database.max_log_bytes(),
            keeper,
            database,
            reserve,
            readers,
            _ended: ended,
        };
        writer.start()?;
        Ok(workers)
    }

    /// The fault of the last work, if any. Tries to reach a database server again.
    pub(crate) fn problem(&self) -> Option<String> {
        let outage = self.outage();
        let write = || lock(&self.write_problem).clone();
        outage.or_else(write).or_else(|| lock(&self.read_problem).clone())
    }

    /// The problem of an outage. Begins a read that ends it, unless the last one has begun recently.
    pub(crate) fn outage(&self) -> Option<String> {
        let mut outage = lock(&self.outage);
        let outage = outage.as_mut()?;
        if outage.last_probe.elapsed() >= PROBE_INTERVAL {
            let current = Arc::clone(&self.outage);
            let read = |connection: &Connection| {
                connection.query_row("SELECT 1", &[], |_| Ok(())).map(drop)
            };
            let (task, probe) = task(self.claim(0), read, move |()| *lock(&current) = None);
            outage.last_probe = Instant::now();
            // If the queue is full, other reads end the outage.
            outage.probe = self.reads.push(task).is_ok().then_some(probe);
        }
        Some(outage.problem.clone())
    }

    pub(crate) async fn write<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        bytes: usize,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
        committed: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, E> {
        let (task, mut pending) = task(self.claim(bytes), work, committed);
        self.writes.push(task)?;
        let outcome = pending.confirm(cancel, self.config.confirm_wait).await?;
        self.note(&self.write_problem, outcome)
    }

    pub(crate) async fn read<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.run(self.claim(0), cancel, work).await
    }

    pub(crate) async fn scan<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        mut work: impl FnMut(&Connection, Instant) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let mut cancel = pin!(cancel);
        let claim = self.claim(0);
        let waiting = self.waiting_scans.try_acquire().map_err(|_| StoreError::Busy)?;
        let permit = Arc::clone(&self.scans).acquire_owned();
        let permit = claim.in_time(cancel.as_mut(), permit).await?;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        drop(waiting);
        let (scanned, max_time) = (Arc::clone(&claim), self.config.max_scan_time);
        let work = move |connection: &_| {
            // The permit is held until the work ends, which may be shortly after its caller has abandoned it.
            let _permit = &permit;
            work(connection, Instant::now() + max_time.min(scanned.rest() / 2))
        };
        self.run(claim, cancel, work).await
    }

    /// See [`Store::close`](crate::Store::close).
    pub(crate) fn close(&self, timeout: Duration) -> bool {
        self.end();
        lock(&self.running).recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }

    fn claim(&self, bytes: usize) -> Arc<Claim> {
        Claim::new(self.config.timeout, bytes)
    }

    async fn run<T: Send + 'static, E: WorkError>(
        &self,
        claim: Arc<Claim>,
        cancel: impl Future<Output = ()>,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (task, mut pending) = task(claim, work, |_| {});
        self.reads.push(task)?;
        self.note(&self.read_problem, pending.in_time(cancel).await?)
    }

    /// Records whether an outcome is a fault of the storage.
    fn note<T, E: WorkError>(
        &self,
        problem: &Mutex<Option<String>>,
        outcome: Result<T, E>,
    ) -> Result<T, E> {
        match outcome.as_ref().map_err(WorkError::store_error) {
            Ok(_) => {
                *lock(problem) = None;
                *lock(&self.outage) = None;
            }
            Err(Some(error @ StoreError::Unreachable(_))) => {
                let (problem, last_probe) = (error.to_string(), Instant::now());
                lock(&self.outage).get_or_insert(Outage { problem, last_probe, probe: None });
            }
            Err(Some(StoreError::Unavailable { reason, .. })) => {
                *lock(problem) = Some(reason.clone());
            }
            Err(Some(error @ StoreError::Failed(_))) => *lock(problem) = Some(error.to_string()),
            Err(_) => {}
        }
        outcome
    }

    fn end(&self) {
        self.reads.close();
        self.writes.close();
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ignores poisoning, since no code panics while it holds one of these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
