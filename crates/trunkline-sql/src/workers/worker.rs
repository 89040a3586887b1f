use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::ErrorCode;

use super::seats::Seat;
use super::stop::Stop;
use super::task::Task;
use super::threads::Threads;
use super::transaction::Transaction;
use crate::error::{Error, OpenError};
use crate::file::{DatabaseFile, Link};
use crate::security::Role;
use crate::session::Session;
use crate::settings::Settings;

/// SQLite recurses over nested SQL. The parser's depth is limited so that this is ample.
const STACK_BYTES: usize = 8 << 20;

/// Runs of one job on a file that keeps changing.
const MAX_RUNS: u32 = 4;

/// How long a writer waits for the readers to end before it closes its connection.
const READERS_WAIT: Duration = Duration::from_secs(10);

/// What a worker is for.
pub(super) enum Duty {
    /// It reads, and opens its connection with its first job.
    Read,
    /// It writes.
    Write {
        /// Its first connection.
        link: Option<Box<Link>>,
        /// It closes its connection after theirs: only the last connection of a database in WAL mode can
        /// take the log away, and only a writing one.
        readers: Arc<Threads>,
    },
}

/// Starts a worker and returns its inbox. It ends when the last sender of the inbox is dropped.
pub(super) fn start(
    file: &Arc<DatabaseFile>,
    settings: &Arc<Settings>,
    threads: &Arc<Threads>,
    duty: Duty,
) -> Result<Sender<Job>, OpenError> {
    let (inbox, jobs) = channel();
    let name = if matches!(duty, Duty::Read) { "sql-reader" } else { "sql-writer" };
    let (file, settings) = (Arc::clone(file), Arc::clone(settings));
    let mut worker = Worker { file, settings, duty, jobs };
    let running = threads.one_more();
    thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // rusqlite asserts in a few places that SQLite never ran out of memory. The unwinding drops
            // the job, whose caller learns of it, and the connection; the next job starts afresh.
            while catch_unwind(AssertUnwindSafe(|| worker.serve())).is_err() {}
            drop(worker);
            drop(running);
        })
        .map_err(OpenError::Thread)?;
    Ok(inbox)
}

struct Worker {
    file: Arc<DatabaseFile>,
    settings: Arc<Settings>,
    duty: Duty,
    jobs: Receiver<Job>,
}

impl Worker {
    fn serve(&mut self) {
        let mut next = None;
        if let Duty::Write { link, .. } = &mut self.duty
            && let Some(link) = link.take()
        {
            next = self.serve_with(&link, None);
        }
        while let Some(job) = next.take().or_else(|| self.jobs.recv().ok()) {
            match self.connect() {
                Ok(link) => next = self.serve_with(&link, Some(job)),
                Err(error) => job.fail(unavailable(error)),
            }
        }
    }

    fn connect(&self) -> Result<Link, OpenError> {
        match self.duty {
            Duty::Read => self.file.connect(&self.settings),
            Duty::Write { .. } => self.file.connect_for_writing(&self.settings),
        }
    }

    /// Runs jobs until a fresh connection is needed, and returns the job that needs it, if any.
    fn serve_with(&self, link: &Link, mut first: Option<Job>) -> Option<Job> {
        let mut session = Session::new(link, &self.settings);
        while let Some(mut job) = first.take().or_else(|| self.jobs.recv().ok()) {
            // Not asked again after the run: what a writer has committed is not done again.
            let is_served = link.is_served();
            if is_served && link.is_current() {
                job.run(link, &mut session);
            }
            if !is_served || !link.is_current() {
                if job.runs >= MAX_RUNS {
                    job.fail(Error::Changing);
                    return None;
                }
                job.runs += 1;
                return Some(job);
            }
            let spoils_connection = job.ran_out_of_memory() || !link.connection.is_autocommit();
            job.finish();
            if spoils_connection {
                return None;
            }
        }
        if let Duty::Write { readers, .. } = &self.duty {
            readers.wait_for_end(Instant::now() + READERS_WAIT);
        }
        None
    }
}

/// Opening reads the schema, so what can stop a query can stop it as well.
pub(super) fn unavailable(error: OpenError) -> Error {
    match error {
        OpenError::Sqlite { source, .. } if is_passing(&source) => source.into(),
        OpenError::NeedsRecovery { .. } => Error::NeedsRecovery,
        OpenError::Missing { .. } => Error::Missing,
        OpenError::Replaced { .. } => Error::Replaced,
        other => Error::Unavailable(other),
    }
}

fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OutOfMemory)
    )
}

/// Runs a task between the beginning and the end of a transaction. The error is that of one of the two.
fn run_in(
    transaction: &Transaction<'_>,
    task: &mut dyn Task,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    transaction.begin()?;
    task.run(session);
    let outcome = match task.error() {
        Some(_) => None,
        None if session.discards_changes() => Some(transaction.rehearse_commit()),
        None => return transaction.commit().inspect_err(|_| session.forget_changes()),
    };
    session.forget_changes();
    transaction.roll_back();
    outcome.unwrap_or(Ok(()))
}

/// A task with what it occupies.
pub(super) struct Job {
    task: Box<dyn Task>,
    stop: Arc<Stop>,
    seat: Seat,
    runs: u32,
}

impl Job {
    pub(super) fn new(task: Box<dyn Task>, stop: Arc<Stop>, seat: Seat) -> Self {
        Self { task, stop, seat, runs: 0 }
    }

    fn run(&mut self, link: &Link, session: &mut Session<'_>) {
        if self.stop.is_over() {
            self.task.fail(self.stop.reason());
            return;
        }
        if let Err(error) = self.stop.attach(link) {
            self.task.fail(error.into());
            return;
        }
        match &link.role {
            Role::Reader => self.task.run(session),
            Role::Writer(clearance) => {
                let transaction = Transaction {
                    connection: &link.connection,
                    clearance,
                    stop: &self.stop,
                    lock_wait: session.settings().lock_wait,
                };
                clearance.forget();
                if let Err(error) = run_in(&transaction, self.task.as_mut(), session) {
                    self.task.fail(error);
                }
                clearance.forget();
            }
        }
        self.stop.detach();
        if matches!(self.task.error(), Some(Error::Cancelled)) {
            self.task.fail(self.stop.reason());
        }
    }

    fn ran_out_of_memory(&self) -> bool {
        matches!(self.task.error(), Some(Error::OutOfMemory))
    }

    fn fail(mut self, error: Error) {
        self.task.fail(error);
        self.finish();
    }

    fn finish(self) {
        self.task.answer(self.seat);
    }
}
