use std::fmt;
use std::path::Path;
use std::pin::pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::config::{Schema, StoreConfig};
use crate::database::Database;
use crate::error::{OpenError, StoreError, WorkError};
use crate::queue::Queue;
use crate::reader;
use crate::reserve::Reserve;
use crate::task::{Claim, task};
use crate::writer::Writer;

/// A database file with its threads. Cloning is cheap; the threads end with the last clone.
///
/// The methods take `cancel`, a future whose end cancels the work, such as that of a cancellation token. Their futures
/// need a tokio runtime with its timer enabled.
#[derive(Clone)]
pub struct Store {
    /// The error is the reason why the file cannot be opened.
    shared: Result<Arc<Shared>, String>,
}

struct Shared {
    config: StoreConfig,
    reads: Arc<Queue>,
    writes: Arc<Queue>,
    /// Fewer scans run than there are readers, so that other reads do not wait for them.
    scans: Arc<Semaphore>,
    waiting_scans: Semaphore,
    /// Disconnected when the threads have ended.
    running: Mutex<Receiver<()>>,
    /// The faults that the last write and the last read ended in.
    write_problem: Mutex<Option<String>>,
    read_problem: Mutex<Option<String>>,
}

impl Store {
    /// Opens a database in `directory`. The directory and the file are created if they are missing, for their owner only,
    /// and the schema is migrated. Blocks.
    ///
    /// The writer calls `maintain` once at the start and before each commit, with the time that the transaction took
    /// until then. Its errors are logged, and what it did is undone.
    ///
    /// # Errors
    /// If the file cannot be created, opened or migrated, is another program's, or was written by a newer version.
    pub fn open(
        directory: &Path,
        schema: Schema,
        config: StoreConfig,
        maintain: impl FnMut(&Connection, Duration) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let (database, keeper) = Database::open(directory, schema, &config)?;
        let (database, reserve) = (Arc::new(database), Reserve::shared());
        let permits = |number: usize| Semaphore::new(number.min(Semaphore::MAX_PERMITS));
        let (ended, running) = channel();
        let readers = config.readers.max(1);
        let shared = Arc::new(Shared {
            reads: Arc::new(Queue::new(config.read_queue, usize::MAX)),
            writes: Arc::new(Queue::new(config.write_queue, config.write_queue_bytes)),
            scans: Arc::new(permits((readers - 1).max(1))),
            waiting_scans: permits(config.read_queue),
            running: Mutex::new(running),
            write_problem: Mutex::default(),
            read_problem: Mutex::default(),
            config,
        });
        // From here on, an error drops `shared`, which ends the threads that have started.
        let readers = (0..readers).map(|_| reader::start(&database, &shared.reads, &reserve));
        let readers = readers.collect::<Result<_, _>>()?;
        let writer = Writer {
            queue: Arc::clone(&shared.writes),
            group: shared.config.group,
            maintain,
            connection: None,
            log_limit: database.max_log_bytes,
            keeper: Some(keeper),
            database,
            reserve,
            readers,
            _ended: ended,
        };
        writer.start()?;
        Ok(Self { shared: Ok(shared) })
    }

    /// A store whose work fails with this reason.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self { shared: Err(reason.into()) }
    }

    /// The reason why the last work could not read or write. It is safe to send to a client, and looks at no file.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match &self.shared {
            Ok(shared) => {
                lock(&shared.write_problem).clone().or_else(|| lock(&shared.read_problem).clone())
            }
            Err(reason) => Some(reason.clone()),
        }
    }

    /// Runs `work`, which holds about `bytes` of memory, in the writer's next transaction, and returns when its commit
    /// is durable. An error undoes what it wrote, and nothing else. The work runs again if memory ran out before the
    /// commit.
    ///
    /// # Errors
    /// That of the work, or that of the store.
    ///
    /// # Cancel safety
    /// Dropped before the work began, the future prevents it. Afterwards the work is done.
    pub async fn write<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        bytes: usize,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let shared = self.shared()?;
        let (task, mut pending) = task(shared.claim(bytes), work);
        shared.writes.push(task)?;
        let outcome = pending.confirmed(cancel, shared.config.confirm_wait).await?;
        note(&shared.write_problem, outcome)
    }

    /// Runs `work` in a transaction that sees one state of the database. The work runs again if memory ran out.
    ///
    /// # Errors
    /// That of the work, or that of the store.
    ///
    /// # Cancel safety
    /// Dropping the future interrupts the work.
    pub async fn read<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let shared = self.shared()?;
        shared.read(shared.claim(0), cancel, work).await
    }

    /// As [`read`](Self::read), for work that looks at many rows: less of it runs at the same time, and it should end
    /// by the given instant, so that a part of its result is answered in time.
    ///
    /// # Errors
    /// That of the work, or that of the store.
    ///
    /// # Cancel safety
    /// Dropping the future interrupts the work.
    pub async fn scan<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        mut work: impl FnMut(&Connection, Instant) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let shared = self.shared()?;
        let mut cancel = pin!(cancel);
        let claim = shared.claim(0);
        let waiting = shared.waiting_scans.try_acquire().map_err(|_| StoreError::Busy)?;
        let permit = Arc::clone(&shared.scans).acquire_owned();
        let permit = claim.in_time(cancel.as_mut(), permit).await?;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        drop(waiting);
        let (scanned, max_time) = (Arc::clone(&claim), shared.config.max_scan_time);
        let work = move |connection: &_| {
            // The permit ends with the work, which goes on for a moment when its caller has gone.
            let _permit = &permit;
            work(connection, Instant::now() + max_time.min(scanned.rest() / 2))
        };
        shared.read(claim, cancel, work).await
    }

    /// Takes no more work, finishes what was taken, and waits until the threads have ended. Blocks. False if that was
    /// not within `patience`.
    #[must_use]
    pub fn close(&self, patience: Duration) -> bool {
        let Ok(shared) = &self.shared else { return true };
        shared.close();
        lock(&shared.running).recv_timeout(patience) == Err(RecvTimeoutError::Disconnected)
    }

    fn shared(&self) -> Result<&Shared, StoreError> {
        let unavailable =
            |reason: &String| StoreError::Unavailable { reason: reason.clone(), source: None };
        self.shared.as_deref().map_err(unavailable)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("problem", &self.problem()).finish_non_exhaustive()
    }
}

impl Shared {
    fn claim(&self, bytes: usize) -> Arc<Claim> {
        Claim::new(self.config.timeout, bytes)
    }

    async fn read<T: Send + 'static, E: WorkError>(
        &self,
        claim: Arc<Claim>,
        cancel: impl Future<Output = ()>,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (task, mut pending) = task(claim, work);
        self.reads.push(task)?;
        note(&self.read_problem, pending.in_time(cancel).await?)
    }

    fn close(&self) {
        self.reads.close();
        self.writes.close();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

/// Records whether an outcome is a fault of the storage.
fn note<T, E: WorkError>(problem: &Mutex<Option<String>>, outcome: Result<T, E>) -> Result<T, E> {
    match outcome.as_ref().map_err(WorkError::store_error) {
        Ok(_) => *lock(problem) = None,
        Err(Some(StoreError::Unavailable { reason, .. })) => *lock(problem) = Some(reason.clone()),
        Err(Some(error @ StoreError::Failed(_))) => *lock(problem) = Some(error.to_string()),
        Err(_) => {}
    }
    outcome
}

/// Nothing panics while it holds one of these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
