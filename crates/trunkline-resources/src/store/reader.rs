use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::file::DatabaseFile;
use super::queue::Queue;
use super::reserve::Reserve;
use super::task::Task;
use super::threads;
use crate::error::{Error, OpenError};

/// Operations of SQLite's virtual machine between two looks at the clock.
const OPERATIONS_PER_CHECK: i32 = 1_000;

/// Starts a thread that runs the tasks of `queue`, each on one state of the database. It ends when the queue
/// is closed and empty.
pub(super) fn start(
    file: &Arc<DatabaseFile>,
    queue: &Arc<Queue>,
    reserve: &Arc<Reserve>,
) -> Result<JoinHandle<()>, OpenError> {
    let (file, queue, reserve) = (Arc::clone(file), Arc::clone(queue), Arc::clone(reserve));
    threads::start("store-reader", move || {
        let mut reader = Reader { file: &file, reserve: &reserve, connection: None };
        while let Some(mut task) = queue.take() {
            reader.run(task.as_mut());
            task.answer();
        }
    })
}

struct Reader<'t> {
    file: &'t DatabaseFile,
    reserve: &'t Reserve,
    /// None before the first task, and after an error that may have spoiled it.
    connection: Option<Connection>,
}

impl Reader<'_> {
    fn run(&mut self, task: &mut dyn Task) {
        if !task.claim().begin() {
            let reason = task.claim().reason();
            return task.fail(reason);
        }
        self.reserve.support(|| {
            if let Err(error) = self.run_in_transaction(task)
                // Memory that runs out ends the transaction, too, which then cannot end once more.
                && !task.error().is_some_and(Error::is_of_memory)
            {
                self.connection = None;
                task.fail(error.into());
            }
            let ran_out = task.error().is_some_and(Error::is_of_memory);
            if ran_out {
                self.connection = None;
            }
            ran_out && !task.claim().is_over()
        });
        if task.error().is_some() && task.claim().is_over() {
            // It was interrupted: the storage did not fail.
            let reason = task.claim().reason();
            task.fail(reason);
        }
        if task.error().is_some_and(Error::is_of_storage) {
            self.connection = None;
        }
    }

    fn run_in_transaction(&mut self, task: &mut dyn Task) -> rusqlite::Result<()> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.file.connect_for_reading()?),
        };
        let claim = Arc::clone(task.claim());
        connection.progress_handler(OPERATIONS_PER_CHECK, Some(move || claim.is_over()))?;
        connection.prepare_cached("BEGIN")?.execute(())?;
        task.run(connection);
        connection.progress_handler(0, None::<fn() -> bool>)?;
        connection.prepare_cached("COMMIT")?.execute(())?;
        Ok(())
    }
}
