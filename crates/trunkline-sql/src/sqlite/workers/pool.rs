use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::time::timeout_at;

use super::cancellation::{self, Cancellation};
use super::lock;
use super::slots::{Answer, Job, Slots, Work, WorkerGuard};
use super::worker::{self, Kind, WaitGroup};
use crate::backend::Usage;
use crate::model::error::{Error, ErrorClass};
use crate::sqlite::config::SqliteConfig;
use crate::sqlite::file::{DatabaseFile, HardenedConnection};
use crate::sqlite::open_error::OpenError;
use crate::sqlite::session::Session;

/// Workers of one role, and the calls that wait for them.
pub(crate) struct Pool {
    file: Arc<DatabaseFile>,
    config: Arc<SqliteConfig>,
    slots: Arc<Slots>,
    /// One permit for each call that may wait.
    queue: Semaphore,
    /// The maximum number of stuck workers that are replaced.
    replaceable: usize,
    threads: Arc<WaitGroup>,
    /// The failure of the database in the last call.
    problem: Mutex<Option<String>>,
}

/// The time after the deadline for which a caller waits for a commit that has begun.
const COMMIT_WAIT: Duration = Duration::from_secs(5);

impl Pool {
    /// A number of readers. Pools with the same wait group close their connections together.
    pub(crate) fn readers(
        file: Arc<DatabaseFile>,
        config: Arc<SqliteConfig>,
        count: usize,
        threads: Arc<WaitGroup>,
    ) -> Result<Self, OpenError> {
        let mut idle = Vec::with_capacity(count);
        for _ in 0..count {
            idle.push(worker::start(&file, &config, &threads, Kind::Reader)?);
        }
        Ok(Self {
            slots: Arc::new(Slots::new(idle)),
            queue: Semaphore::new(config.queue),
            replaceable: config.stuck_readers,
            threads,
            file,
            config,
            problem: Mutex::default(),
        })
    }

    /// The writer, on an open connection.
    pub(crate) fn writer(
        connection: HardenedConnection,
        readers: &Self,
    ) -> Result<Self, OpenError> {
        let (file, config) = (Arc::clone(&readers.file), Arc::clone(&readers.config));
        let threads = Arc::new(WaitGroup::default());
        let kind = Kind::Writer {
            connection: Some(Box::new(connection)),
            readers: Arc::clone(&readers.threads),
        };
        let inbox = worker::start(&file, &config, &threads, kind)?;
        Ok(Self {
            slots: Arc::new(Slots::new(vec![inbox])),
            queue: Semaphore::new(config.write_queue),
            replaceable: 0,
            threads,
            file,
            config,
            problem: Mutex::default(),
        })
    }

    pub(crate) fn config(&self) -> &SqliteConfig {
        &self.config
    }

    /// Runs `work` on a worker. On a reader it may run more than once, if the file changed under it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future interrupts the work. A writer's work is then rolled back, unless its commit has
    /// begun.
    pub(crate) async fn call<T, F>(&self, timeout: Duration, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Session<'_>) -> Result<T, Error> + Send + 'static,
    {
        let outcome = self.run(timeout, work).await;
        match &outcome {
            Ok(_) => *lock(&self.problem) = None,
            // `DatabaseFile` reports problems of the path.
            Err(Error::Missing | Error::Replaced | Error::ReaderLost | Error::Unconfirmed) => {}
            Err(error) if error.class() == ErrorClass::Database => {
                *lock(&self.problem) = Some(error.to_string());
            }
            Err(_) => {}
        }
        outcome
    }

    /// The failure of the database in the last call, or the absence of its file.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.slots.free().is_closed() {
            return None;
        }
        match self.file.open_file() {
            Ok(_) => lock(&self.problem).clone(),
            Err(error) => Some(worker::unavailable(error).to_string()),
        }
    }

    /// The numbers of calls that run and that wait.
    pub(crate) fn usage(&self) -> Usage {
        let running = self.slots.running();
        let waiting = self.config.queue.saturating_sub(self.queue.available_permits());
        Usage { running, waiting }
    }

    async fn run<T, F>(&self, timeout: Duration, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Session<'_>) -> Result<T, Error> + Send + 'static,
    {
        let started = Instant::now();
        let patience = cancellation::deadline(started, timeout.min(self.config.queue_wait));
        let cancellation = Arc::new(Cancellation::new(started, timeout));
        let worker = self.worker(&cancellation, patience).await?;

        let (reply, mut answer) = oneshot::channel();
        let inbox = worker.inbox();
        let job = Job::new(Box::new(Work::new(work, reply)), Arc::clone(&cancellation), worker);
        // Dropping this future stops the work.
        let _cancel_on_drop = cancellation::DropGuard::new(&cancellation);
        inbox.send(job).map_err(|_| Error::ReaderLost)?;

        if let Ok(answer) = timeout_at(cancellation.deadline().into(), &mut answer).await {
            return outcome_of(answer);
        }
        if cancellation.cancel() {
            return Err(cancellation.timeout_error());
        }
        match tokio::time::timeout(COMMIT_WAIT, answer).await {
            Ok(answer) => outcome_of(answer),
            Err(_) => {
                tracing::error!("a commit was not confirmed in time");
                Err(Error::Unconfirmed)
            }
        }
    }

    pub(crate) fn file(&self) -> &DatabaseFile {
        &self.file
    }

    /// Refuses further calls and lets the threads end. Running calls are not interrupted.
    pub(crate) fn close(&self) {
        self.slots.close();
    }

    /// Waits until all threads have ended and their connections are closed. Returns false if that takes too long.
    /// Blocks.
    pub(crate) fn wait_for_end(&self, until: Instant) -> bool {
        self.threads.wait(until)
    }

    async fn worker(
        &self,
        cancellation: &Arc<Cancellation>,
        patience: Instant,
    ) -> Result<WorkerGuard, Error> {
        // Also if others are free, since a stuck one occupies a processor.
        self.replace_stuck();
        let permit = match self.slots.free().try_acquire() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_worker(patience).await?,
        };
        self.slots.take(permit, cancellation).ok_or(Error::Closed)
    }

    async fn wait_for_worker(&self, patience: Instant) -> Result<SemaphorePermit<'_>, Error> {
        let mut next_look = self.replace_stuck();
        if let Ok(permit) = self.slots.free().try_acquire() {
            return Ok(permit);
        }
        let _queued = self.queue.try_acquire().map_err(|_| self.queue_error())?;
        let mut free = pin!(self.slots.free().acquire());
        loop {
            let until = next_look.map_or(patience, |look| look.min(patience));
            match timeout_at(until.into(), &mut free).await {
                Ok(permit) => return permit.map_err(|_| Error::Closed),
                Err(_) if until == patience => return Err(Error::Busy),
                Err(_) => next_look = self.replace_stuck(),
            }
        }
    }

    fn queue_error(&self) -> Error {
        if self.slots.free().is_closed() { Error::Closed } else { Error::Busy }
    }

    fn replace_stuck(&self) -> Option<Instant> {
        self.slots.replace_stuck(self.replaceable, || {
            let started = worker::start(&self.file, &self.config, &self.threads, Kind::Reader);
            started
                .inspect_err(|error| tracing::error!(%error, "cannot replace a stuck reader"))
                .ok()
        })
    }
}

/// The outcome of an answer. Its worker becomes free.
fn outcome_of<T>(answer: Result<Answer<T>, oneshot::error::RecvError>) -> Result<T, Error> {
    answer.map_or(Err(Error::ReaderLost), |(outcome, _)| outcome)
}
