use std::sync::Arc;
use std::thread::JoinHandle;

use crate::connection::Connection;
use crate::database::Database;
use crate::error::{OpenError, StoreError};
use crate::queue::{Queue, start_thread};
use crate::reserve::Reserve;
use crate::task::Task;

/// Starts a thread that runs the tasks of `queue`, each in a read transaction. It ends when the queue is closed and
/// empty.
pub(crate) fn start(
    database: &Arc<Database>,
    queue: &Arc<Queue>,
    reserve: &Arc<Reserve>,
) -> Result<JoinHandle<()>, OpenError> {
    let (database, queue, reserve) = (Arc::clone(database), Arc::clone(queue), Arc::clone(reserve));
    start_thread("store-reader", move || {
        let mut reader = Reader { database: &database, reserve: &reserve, connection: None };
        while let Some(mut task) = queue.pop() {
            reader.run(task.as_mut());
            task.answer();
        }
    })
}

struct Reader<'t> {
    database: &'t Database,
    reserve: &'t Reserve,
    /// `None` before the first task, and after a fault.
    connection: Option<Connection>,
}

impl Reader<'_> {
    fn run(&mut self, task: &mut dyn Task) {
        if let Err(reason) = task.claim().begin() {
            return task.fail(reason);
        }
        let reserve = self.reserve;
        let attempt = || {
            let outcome = self.run_in_transaction(task);
            let ran_out = task.fault().is_some_and(StoreError::is_of_memory);
            if let Err(error) = outcome {
                self.connection = None;
                // Running out of memory also ends the transaction, so that `COMMIT` fails as well.
                if !ran_out {
                    task.fail(error);
                }
            }
            let ran_out = task.fault().is_some_and(StoreError::is_of_memory);
            if ran_out {
                self.connection = None;
            }
            ran_out && !task.claim().is_over()
        };
        reserve.support(attempt, |ran_out| *ran_out);
        if task.fault().is_some() && task.claim().is_over() {
            // The task was interrupted; the storage did not fail.
            let reason = task.claim().reason();
            task.fail(reason);
        }
        if task.fault().is_some() {
            self.connection = None;
        }
    }

    fn run_in_transaction(&mut self, task: &mut dyn Task) -> Result<(), StoreError> {
        let is_reused = self.connection.is_some();
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.database.connect_for_reading()?),
        };
        connection.begin_read(task.claim())?;
        task.run(connection);
        if is_reused && connection.should_retry() && !task.claim().is_over() {
            // The server has closed it since its last use.
            self.connection = None;
            return self.run_in_transaction(task);
        }
        let ended = connection.end_read();
        if connection.is_in_transaction() {
            self.connection = None;
        }
        ended
    }
}
