use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rusqlite::ErrorCode;

use super::seats::Seat;
use super::stop::Stop;
use super::task::Task;
use crate::error::{Error, OpenError};
use crate::file::{DatabaseFile, Link};
use crate::session::Session;
use crate::settings::Settings;

/// SQLite recurses over nested SQL. The parser's depth is limited so that this is ample.
const STACK_BYTES: usize = 8 << 20;

/// Runs of one job on a file that keeps changing.
const MAX_RUNS: u32 = 4;

/// Starts a reader and returns its inbox. It ends when the last sender of the inbox is dropped. It opens
/// its connection with its first job.
pub(super) fn start(
    file: Arc<DatabaseFile>,
    settings: Arc<Settings>,
) -> Result<Sender<Job>, OpenError> {
    let (inbox, jobs) = channel();
    thread::Builder::new()
        .name("sql-reader".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // rusqlite asserts in a few places that SQLite never ran out of memory. The unwinding drops
            // the job, whose caller learns of it, and the connection; the next job starts afresh.
            while catch_unwind(AssertUnwindSafe(|| serve(&file, &settings, &jobs))).is_err() {}
        })
        .map_err(OpenError::Thread)?;
    Ok(inbox)
}

fn serve(file: &DatabaseFile, settings: &Settings, jobs: &Receiver<Job>) {
    let mut carried = None;
    while let Some(job) = carried.take().or_else(|| jobs.recv().ok()) {
        match file.connect(settings) {
            Ok(link) => carried = serve_with(&link, settings, job, jobs),
            Err(error) => job.fail(unavailable(error)),
        }
    }
}

/// Opening reads the schema, so what can stop a query can stop it as well.
fn unavailable(error: OpenError) -> Error {
    match error {
        OpenError::Sqlite { source, .. } if is_passing(&source) => source.into(),
        other => Error::Unavailable(other),
    }
}

fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OutOfMemory)
    )
}

/// Runs jobs until a fresh connection is needed, and returns the job that needs it, if any.
fn serve_with(
    link: &Link<'_>,
    settings: &Settings,
    first: Job,
    jobs: &Receiver<Job>,
) -> Option<Job> {
    let mut session = Session::new(&link.connection, settings);
    let mut next = Some(first);
    while let Some(mut job) = next.take().or_else(|| jobs.recv().ok()) {
        if link.is_current() {
            job.run(link, &mut session);
        }
        if !link.is_current() {
            if job.runs >= MAX_RUNS {
                job.fail(Error::Changing);
                return None;
            }
            job.runs += 1;
            return Some(job);
        }
        let spoils_connection = job.ran_out_of_memory();
        job.finish();
        if spoils_connection {
            return None;
        }
    }
    None
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

    fn run(&mut self, link: &Link<'_>, session: &mut Session<'_>) {
        if self.stop.is_over() {
            self.task.fail(self.stop.reason());
            return;
        }
        if let Err(error) = self.stop.attach(&link.connection) {
            self.task.fail(error.into());
            return;
        }
        self.task.run(session);
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

    /// Frees the reader before it answers, so that the caller's next call finds it.
    fn finish(self) {
        drop(self.seat);
        self.task.answer();
    }
}
