//! Records and requests in a SQLite file.
//!
//! SQLite blocks, so each connection has a dedicated thread. Several
//! readers share one [`queue`]; the one writer has another, and commits what waits there together, since
//! making a commit durable costs a thousand times what most commands do. A [`Claim`](deadline::Claim) settles,
//! between a thread that takes a command and a caller that goes, whether the command is done.

mod deadline;
mod error;
mod file;
mod group;
mod migrations;
mod purge;
mod queue;
mod reader;
mod reading;
mod reserve;
mod row;
mod task;
mod threads;
mod writer;
mod writing;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::{Error, OpenError};
use crate::settings::Settings;
use deadline::Deadline;
use file::DatabaseFile;
use queue::{Queue, ScanLimit};
use reserve::Reserve;
use threads::Ended;

pub(crate) use reading::Reading;
pub(crate) use row::{Mark, Request, Row, Standing};
pub(crate) use writing::Writing;

/// Records and requests in a SQLite file. Cloning is cheap; the threads end with the last clone.
#[derive(Clone)]
pub(crate) struct Store {
    /// The error is the reason why the files cannot be opened.
    shared: Result<Arc<Shared>, String>,
}

struct Shared {
    reads: Arc<Queue>,
    writes: Arc<Queue>,
    scans: ScanLimit,
    timeout: Duration,
    confirm_wait: Duration,
    scan_time: Duration,
    ended: Arc<Ended>,
    /// Why the last write failed, and the last read.
    write_problem: Mutex<Option<String>>,
    read_problem: Mutex<Option<String>>,
}

impl Store {
    /// Opens `trunkline.sqlite` in `directory`. Both are made if they are missing, for their owner only.
    pub(crate) fn open(directory: &Path, settings: &Settings) -> Result<Self, OpenError> {
        let (file, keeper) = DatabaseFile::prepare(directory, settings)?;
        let shared = Arc::new(Shared {
            reads: Arc::new(Queue::new(settings.read_queue, usize::MAX)),
            writes: Arc::new(Queue::new(settings.write_queue, settings.write_queue_bytes)),
            scans: ScanLimit::new(settings),
            timeout: settings.timeout,
            confirm_wait: settings.confirm_wait,
            scan_time: settings.max_scan_time,
            ended: Arc::new(Ended::default()),
            write_problem: Mutex::default(),
            read_problem: Mutex::default(),
        });
        // From here on, an error drops `shared`, which ends the threads that were started.
        let reserve = Arc::new(Reserve::new());
        let mut readers = Vec::with_capacity(settings.readers.max(1));
        for _ in 0..settings.readers.max(1) {
            readers.push(reader::start(&file, &shared.reads, &reserve)?);
        }
        let ends = (readers, &shared.ended);
        writer::start((&file, keeper), settings, &shared.writes, &reserve, ends)?;
        Ok(Self { shared: Ok(shared) })
    }

    /// A store that answers each command with this reason.
    pub(crate) fn unavailable(reason: String) -> Self {
        Self { shared: Err(reason) }
    }

    /// The reason why the last commands could not read or change records.
    pub(crate) fn problem(&self) -> Option<String> {
        match &self.shared {
            Ok(shared) => {
                lock(&shared.write_problem).clone().or_else(|| lock(&shared.read_problem).clone())
            }
            Err(reason) => Some(reason.clone()),
        }
    }

    fn shared(&self) -> Result<&Shared, Error> {
        let unavailable =
            |reason: &String| Error::Unavailable { reason: reason.clone(), source: None };
        self.shared.as_deref().map_err(unavailable)
    }

    /// Runs `work`, which holds about `bytes` of memory, in the writer's next transaction; returns when its commit is
    /// durable. An error of `work` undoes what it has written, and nothing else. It runs again if memory runs out before the commit; so do
    /// those that read.
    ///
    /// # Cancel safety
    ///
    /// Dropped before the work was begun, the future prevents it. Afterwards the work is done all the same.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        cancel: &CancellationToken,
        bytes: usize,
        mut work: impl FnMut(&Writing<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let work = move |connection: &_| work(&Writing::new(connection));
        let shared = self.shared()?;
        let mut pending = shared.writes.enqueue(shared.deadline(), bytes, work)?;
        let outcome = match pending.in_time(cancel).await {
            Ok(outcome) => outcome,
            Err(reason) if pending.abandon() => Err(reason),
            Err(_) => pending.confirmed(shared.confirm_wait).await,
        };
        note(&shared.write_problem, outcome)
    }

    /// Runs `work` on one state of the store, which no write changes meanwhile.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future interrupts the work.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        cancel: &CancellationToken,
        mut work: impl FnMut(&Reading<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let work = move |connection: &_| work(&Reading::new(connection));
        let shared = self.shared()?;
        let mut pending = shared.reads.enqueue(shared.deadline(), 0, work)?;
        note(&shared.read_problem, pending.in_time(cancel).await?)
    }

    /// As [`read`](Self::read), for work that looks at many records: less of it runs at the same time, and it
    /// asks whether it still [has time](Reading::has_time).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future interrupts the work.
    pub(crate) async fn scan<T: Send + 'static>(
        &self,
        cancel: &CancellationToken,
        mut work: impl FnMut(&Reading<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let shared = self.shared()?;
        let (deadline, longest) = (shared.deadline(), shared.scan_time);
        let permit = shared.scans.acquire(deadline, cancel).await?;
        let work = move |connection: &_| {
            // It ends with the work, which goes on for a moment when its caller has gone.
            let _permit = &permit;
            // What is left over is for the record that is looked at then, and for the answer.
            work(&Reading::for_time(connection, longest.min(deadline.rest() / 2)))
        };
        let mut pending = shared.reads.enqueue(deadline, 0, work)?;
        note(&shared.read_problem, pending.in_time(cancel).await?)
    }

    /// Takes no more commands, finishes those that were taken, and waits until the threads have ended.
    /// Blocks. False if that was not in time.
    pub(crate) fn close(&self, patience: Duration) -> bool {
        let Ok(shared) = &self.shared else { return true };
        shared.close();
        shared.ended.wait(patience)
    }
}

/// Keeps what an outcome shows of the storage.
fn note<T>(problem: &Mutex<Option<String>>, outcome: Result<T, Error>) -> Result<T, Error> {
    match &outcome {
        Ok(_) => *lock(problem) = None,
        Err(Error::Unavailable { reason, .. }) => *lock(problem) = Some(reason.clone()),
        Err(error @ Error::Storage(_)) => *lock(problem) = Some(error.to_string()),
        Err(_) => {}
    }
    outcome
}

fn lock(problem: &Mutex<Option<String>>) -> MutexGuard<'_, Option<String>> {
    problem.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn deadline(&self) -> Deadline {
        Deadline::after(self.timeout)
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
