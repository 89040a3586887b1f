use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::ErrorCode;

use super::lock;
use super::slots::{Job, Task};
use super::transaction::Transaction;
use crate::model::committed_change::CommittedChange;
use crate::model::error::Error;
use crate::sqlite::config::SqliteConfig;
use crate::sqlite::file::{DatabaseFile, HardenedConnection};
use crate::sqlite::open_error::OpenError;
use crate::sqlite::security::Role;
use crate::sqlite::session::Session;

/// The stack size. SQLite recurses over nested SQL, whose depth is limited accordingly.
const STACK_BYTES: usize = 8 << 20;

/// Maximum runs of one job on a file that keeps changing.
const MAX_RUNS: u32 = 4;

/// Maximum wait of a writer for the end of the readers before it closes its connection.
const READERS_WAIT: Duration = Duration::from_secs(10);

/// The kind of a worker.
pub(super) enum Kind {
    /// A reader, which opens its connection with its first job.
    Reader,
    /// The writer.
    Writer {
        /// Its first connection.
        connection: Option<Box<HardenedConnection>>,
        /// The readers, which close their connections first: in WAL mode, only the last connection can remove the log,
        /// and only a writing one.
        readers: Arc<WaitGroup>,
    },
}

/// Starts a worker and returns its inbox. It ends when the last sender of the inbox is dropped.
pub(super) fn start(
    file: &Arc<DatabaseFile>,
    config: &Arc<SqliteConfig>,
    threads: &Arc<WaitGroup>,
    kind: Kind,
) -> Result<Sender<Job>, OpenError> {
    let (inbox, jobs) = channel();
    let name = if matches!(kind, Kind::Reader) { "sql-reader" } else { "sql-writer" };
    let (file, config) = (Arc::clone(file), Arc::clone(config));
    let mut worker = Worker { file, config, kind, jobs };
    let running = threads.enter();
    thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // rusqlite asserts in a few places that SQLite does not run out of memory. Unwinding drops the job, whose
            // caller receives an error, and the connection; the next job opens a new one.
            while catch_unwind(AssertUnwindSafe(|| worker.serve())).is_err() {}
            drop(worker);
            drop(running);
        })
        .map_err(OpenError::Thread)?;
    Ok(inbox)
}

struct Worker {
    file: Arc<DatabaseFile>,
    config: Arc<SqliteConfig>,
    kind: Kind,
    jobs: Receiver<Job>,
}

impl Worker {
    fn serve(&mut self) {
        let mut next = None;
        if let Kind::Writer { connection, .. } = &mut self.kind
            && let Some(connection) = connection.take()
        {
            next = self.serve_with(&connection, None);
        }
        while let Some(job) = next.take().or_else(|| self.jobs.recv().ok()) {
            match self.connect() {
                Ok(connection) => next = self.serve_with(&connection, Some(job)),
                Err(error) => job.fail(unavailable(error)),
            }
        }
    }

    fn connect(&self) -> Result<HardenedConnection, OpenError> {
        match self.kind {
            Kind::Reader => self.file.connect(&self.config),
            Kind::Writer { .. } => self.file.connect_for_writing(&self.config),
        }
    }

    /// Runs jobs until a new connection is required, and returns the job that requires it.
    fn serve_with(&self, connection: &HardenedConnection, mut first: Option<Job>) -> Option<Job> {
        let mut session = Session::new(connection, &self.config);
        while let Some(mut job) = first.take().or_else(|| self.jobs.recv().ok()) {
            // Not repeated after the run, since committed changes must not be applied again.
            let is_served = connection.is_served();
            if is_served && connection.is_current() {
                run(&mut job, connection, &mut session);
            }
            if !is_served || !connection.is_current() {
                if job.runs >= MAX_RUNS {
                    job.fail(Error::Changing);
                    return None;
                }
                job.runs += 1;
                return Some(job);
            }
            let spoils_connection = matches!(job.task.error(), Some(Error::OutOfMemory))
                || !connection.inner.is_autocommit();
            job.finish();
            if spoils_connection {
                return None;
            }
        }
        if let Kind::Writer { readers, .. } = &self.kind {
            readers.wait(Instant::now() + READERS_WAIT);
        }
        None
    }
}

/// The error of a call whose connection cannot be opened.
pub(super) fn unavailable(error: OpenError) -> Error {
    match error {
        OpenError::Sqlite { source, .. } if is_passing(&source) => source.into(),
        OpenError::NeedsRecovery { .. } => Error::NeedsRecovery,
        OpenError::Missing { .. } => Error::Missing,
        OpenError::Replaced { .. } => Error::Replaced,
        other => Error::Unavailable(other.into()),
    }
}

fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OutOfMemory)
    )
}

fn run(job: &mut Job, connection: &HardenedConnection, session: &mut Session<'_>) {
    let Job { task, cancellation, .. } = job;
    if cancellation.is_over() {
        task.fail(cancellation.reason());
        return;
    }
    if let Err(error) = cancellation.attach(connection) {
        task.fail(error.into());
        return;
    }
    match &connection.role {
        Role::Reader(_) => task.run(session),
        Role::Writer(writer_state) => {
            let transaction = Transaction {
                connection: &connection.inner,
                writer_state,
                cancellation,
                lock_wait: session.config().lock_wait,
            };
            writer_state.reset();
            let own_write = connection.file().begin_own_write();
            let before = connection.inner.total_changes();
            let outcome = run_in(&transaction, task.as_mut(), session);
            own_write.end();
            match outcome {
                Ok(false) => {}
                Ok(true) => {
                    let change = writer_state.take_change();
                    if change.schema || connection.inner.total_changes() != before {
                        announce(change, connection, session);
                    }
                }
                Err(error) => task.fail(error),
            }
            writer_state.reset();
            if session.has_foreign_write() {
                connection.file().listeners.notify(&CommittedChange::unknown());
            }
        }
    }
    cancellation.detach();
    if matches!(task.error(), Some(Error::Cancelled)) {
        task.fail(cancellation.reason());
    }
}

/// Notifies the listeners of a committed change.
fn announce(
    mut change: CommittedChange,
    connection: &HardenedConnection,
    session: &mut Session<'_>,
) {
    // The change is complete, whether its views are known or not.
    if let Ok(special) = session.special_tables() {
        change.tables.extend(special.views.iter().cloned());
    }
    // Clients can subscribe to names of hidden tables, of which they must not learn.
    if !session.config().rules.is_empty() {
        change.tables.clear();
        change.any_table = true;
    }
    connection.file().listeners.notify(&change);
}

/// Runs a task in a transaction, and returns whether it was committed. The error is that of its beginning or its end.
fn run_in(
    transaction: &Transaction<'_>,
    task: &mut dyn Task,
    session: &mut Session<'_>,
) -> Result<bool, Error> {
    transaction.begin()?;
    task.run(session);
    let outcome = match task.error() {
        Some(_) => None,
        None if session.discards_changes() => Some(transaction.rehearse_commit()),
        None => {
            let committed = transaction.commit().inspect_err(|_| session.forget_changes());
            return committed.map(|()| true);
        }
    };
    session.forget_changes();
    transaction.roll_back();
    outcome.unwrap_or(Ok(())).map(|()| false)
}

/// The number of running threads of a pool.
#[derive(Default)]
pub(crate) struct WaitGroup {
    running: Mutex<usize>,
    one_ended: Condvar,
}

/// A running thread, until it is dropped.
pub(super) struct WaitGroupGuard(Arc<WaitGroup>);

impl WaitGroup {
    pub(super) fn enter(self: &Arc<Self>) -> WaitGroupGuard {
        *lock(&self.running) += 1;
        WaitGroupGuard(Arc::clone(self))
    }

    /// Waits until all have ended. Returns false if that takes too long.
    pub(super) fn wait(&self, until: Instant) -> bool {
        let mut running = lock(&self.running);
        while *running > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.one_ended.wait_timeout(running, left);
            running = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for WaitGroupGuard {
    fn drop(&mut self) {
        *lock(&self.0.running) -= 1;
        self.0.one_ended.notify_all();
    }
}
