use rusqlite::{Connection, ffi};

use super::error::copy;
use super::queue::Queue;
use super::task::Task;
use crate::error::Error;

/// Tasks of one transaction. They are answered together, when it is over: why one of them failed may rest on
/// what another one did.
pub(super) struct Group {
    /// Those that were begun.
    tasks: Vec<Box<dyn Task>>,
    first: Option<Box<dyn Task>>,
    bound: usize,
}

impl Group {
    /// A group of at most `bound` tasks.
    pub(super) fn new(first: Box<dyn Task>, bound: usize) -> Self {
        Self { tasks: Vec::new(), first: Some(first), bound: bound.max(1) }
    }

    /// Runs the first task and those that wait, in the transaction that was begun on the connection; before them,
    /// those of an earlier transaction that was rolled back. The error is that of the transaction: then
    /// nothing of the group is done.
    pub(super) fn run(&mut self, connection: &Connection, queue: &Queue) -> rusqlite::Result<()> {
        for task in &mut self.tasks {
            run_in_savepoint(task.as_mut(), connection)?;
        }
        while let Some(mut task) = self.next(queue) {
            if task.claim().begin() {
                self.tasks.push(task);
                let task = self.tasks.last_mut().map(Box::as_mut);
                task.map_or(Ok(()), |task| run_in_savepoint(task, connection))?;
            } else {
                let reason = task.claim().reason();
                task.fail(reason);
                task.answer();
            }
        }
        Ok(())
    }

    fn next(&mut self, queue: &Queue) -> Option<Box<dyn Task>> {
        let has_room = self.tasks.len() < self.bound;
        self.first.take().or_else(|| has_room.then(|| queue.take_now()).flatten())
    }

    /// Fails all of the group for what befell its transaction; if it could not be begun, also those that wait.
    pub(super) fn fail(&mut self, error: &rusqlite::Error, queue: &Queue) {
        if self.tasks.is_empty() {
            // All are taken before the first one is answered: what its caller sends then is another matter.
            while let Some(task) = self.next(queue) {
                self.tasks.push(task);
            }
        }
        let fault = self.tasks.iter().find_map(|task| match task.error() {
            Some(Error::Unavailable { reason, .. }) => Some(reason.clone()),
            _ => None,
        });
        for task in &mut self.tasks {
            // The one whose error ended the transaction knows better.
            if !task.error().is_some_and(Error::is_of_storage) {
                task.fail(match &fault {
                    Some(reason) => {
                        Error::Unavailable { reason: reason.clone(), source: Some(copy(error)) }
                    }
                    None => copy(error).into(),
                });
            }
        }
    }

    /// Whether memory may have run out while one of them ran.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        self.tasks.iter().any(|task| task.error().is_some_and(Error::is_of_memory))
    }

    /// Whether something happened to a task that may have spoiled the connection.
    pub(super) fn met_storage_error(&self) -> bool {
        self.tasks.iter().any(|task| task.error().is_some_and(Error::is_of_storage))
    }

    pub(super) fn answer(self) {
        for task in self.tasks {
            task.answer();
        }
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
