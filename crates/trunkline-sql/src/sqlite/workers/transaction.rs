use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::cancellation::{self, Cancellation};
use crate::model::error::Error;
use crate::sqlite::security::{self, WriterState};

/// The transaction of one call on the writer.
///
/// It waits for locks itself, in short steps, since SQLite's own wait observes neither the deadline nor a
/// cancellation.
pub(super) struct Transaction<'w> {
    pub(super) connection: &'w Connection,
    pub(super) writer_state: &'w WriterState,
    pub(super) cancellation: &'w Cancellation,
    /// The maximum wait for a lock.
    pub(super) lock_wait: Duration,
}

/// Pauses between attempts to take a lock, in milliseconds; the last one repeats.
const STEPS: [u64; 5] = [1, 2, 5, 10, 20];

impl Transaction<'_> {
    /// Takes the write lock, so that no later statement fails because another process has written in between.
    pub(super) fn begin(&self) -> Result<(), Error> {
        self.retry(|| {
            if self.cancellation.is_over() {
                return Err(self.cancellation.reason());
            }
            Ok(self.run("BEGIN IMMEDIATE"))
        })
    }

    /// Commits, unless the call is over. From then on, the caller receives the outcome of the commit.
    pub(super) fn commit(&self) -> Result<(), Error> {
        let committed = self.retry(|| {
            if !self.cancellation.begin_commit() {
                return Err(self.cancellation.reason());
            }
            let outcome = self.run("COMMIT");
            if outcome.is_err() {
                self.cancellation.end_commit();
            }
            Ok(outcome)
        });
        if committed.is_err() {
            self.roll_back();
        }
        committed
    }

    /// Returns the error of a commit without committing: the commit hook makes SQLite roll back. SQLite checks deferred
    /// foreign keys before it takes a lock, so a lock of another process does not matter.
    pub(super) fn rehearse_commit(&self) -> Result<(), Error> {
        match self.writer_state.with_commit_veto(|| self.run("COMMIT")) {
            Err(error) if is_locked(&error) || is_vetoed(&error) => Ok(()),
            outcome => Ok(outcome?),
        }
    }

    /// Rolls back. SQLite may have done so already, after some errors and after an interrupt.
    pub(super) fn roll_back(&self) {
        if self.connection.is_autocommit() {
            return;
        }
        if let Err(error) = self.run("ROLLBACK") {
            // The connection is then replaced, which rolls back its transaction.
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }

    fn retry(
        &self,
        mut attempt: impl FnMut() -> Result<rusqlite::Result<()>, Error>,
    ) -> Result<(), Error> {
        let until = cancellation::deadline(Instant::now(), self.lock_wait);
        let mut steps = STEPS.into_iter().chain(std::iter::repeat(STEPS[STEPS.len() - 1]));
        loop {
            match attempt()? {
                Err(error) if is_locked(&error) && Instant::now() < until => {
                    thread::sleep(Duration::from_millis(steps.next().unwrap_or_default()));
                }
                outcome => return Ok(outcome?),
            }
        }
    }

    /// Without waiting for a lock.
    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        security::wait_for_locks(self.connection, Duration::ZERO)?;
        let outcome =
            self.writer_state.with_transaction_allowed(|| self.connection.execute_batch(sql));
        security::wait_for_locks(self.connection, self.lock_wait)?;
        outcome
    }
}

fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn is_vetoed(error: &rusqlite::Error) -> bool {
    const VETO: i32 = rusqlite::ffi::SQLITE_CONSTRAINT_COMMITHOOK;
    error.sqlite_error().is_some_and(|error| error.extended_code == VETO)
}
