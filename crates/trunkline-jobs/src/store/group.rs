use std::iter;

use rusqlite::{Connection, ffi};

use super::queue::Queue;
use super::task::Task;
use crate::error::Error;

/// Tasks of one transaction. They are answered together, when it is over: why one of them failed may rest on
/// what another one did.
pub(super) struct Group {
    tasks: Vec<Box<dyn Task>>,
    bound: usize,
}

impl Group {
    /// A group of at most `bound` tasks.
    pub(super) fn new(bound: usize) -> Self {
        Self { tasks: Vec::new(), bound: bound.max(1) }
    }

    /// Runs `first` and those that wait, in the transaction that was begun on the connection. The error is
    /// that of the transaction: then nothing of the group is done.
    pub(super) fn run(
        &mut self,
        first: Box<dyn Task>,
        connection: &Connection,
        queue: &Queue,
    ) -> rusqlite::Result<()> {
        let mut next = Some(first);
        while let Some(mut task) = next {
            if task.claim().begin() {
                self.tasks.push(task);
                let task = self.tasks.last_mut().map(Box::as_mut);
                task.map_or(Ok(()), |task| run_in_savepoint(task, connection))?;
            } else {
                let reason = task.claim().reason();
                task.fail(reason);
                task.answer();
            }
            next = if self.tasks.len() < self.bound { queue.take_now() } else { None };
        }
        Ok(())
    }

    /// Fails all of the group for what befell its transaction.
    pub(super) fn fail(&mut self, error: &rusqlite::Error) {
        for task in &mut self.tasks {
            // The one whose error ended the transaction knows better.
            if !matches!(task.error(), Some(Error::Storage(_))) {
                task.fail(again(error).into());
            }
        }
    }

    /// Whether something happened to a task that may have spoiled the connection.
    pub(super) fn met_storage_error(&self) -> bool {
        self.tasks.iter().any(|task| matches!(task.error(), Some(Error::Storage(_))))
    }

    pub(super) fn answer(self) {
        for task in self.tasks {
            task.answer();
        }
    }
}

/// Answers `first` and those that wait, at most `bound` in all, when their transaction could not be begun.
pub(super) fn refuse(first: Box<dyn Task>, bound: usize, queue: &Queue, error: &rusqlite::Error) {
    // All are taken before the first one is answered: what its caller sends then is another matter.
    let others = (1..bound).map_while(|_| queue.take_now());
    let refused: Vec<_> = iter::once(first).chain(others).collect();
    for mut task in refused {
        task.fail(again(error).into());
        task.answer();
    }
}

fn run_in_savepoint(task: &mut dyn Task, connection: &Connection) -> rusqlite::Result<()> {
    savepoint(connection, || {
        task.run(connection);
        task.error().is_none()
    })
}

/// Does `work`, and undoes it if it returns false. The error is that of the transaction around it.
pub(super) fn savepoint(
    connection: &Connection,
    work: impl FnOnce() -> bool,
) -> rusqlite::Result<()> {
    connection.prepare_cached("SAVEPOINT command")?.execute(())?;
    let keep = work();
    // After some errors, as that of a full disk, SQLite rolls back all of the transaction.
    if connection.is_autocommit() {
        let code = ffi::Error::new(ffi::SQLITE_ABORT);
        let text = "the transaction was rolled back for an error of one command";
        return Err(rusqlite::Error::SqliteFailure(code, Some(text.to_owned())));
    }
    if !keep {
        connection.prepare_cached("ROLLBACK TO command")?.execute(())?;
    }
    connection.prepare_cached("RELEASE command")?.execute(())?;
    Ok(())
}

/// The same error once more; it cannot be cloned.
fn again(error: &rusqlite::Error) -> rusqlite::Error {
    let code = error.sqlite_error().copied().unwrap_or(ffi::Error::new(ffi::SQLITE_ERROR));
    rusqlite::Error::SqliteFailure(code, Some(error.to_string()))
}
