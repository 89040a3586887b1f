use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::{error, warn};

use crate::connection::Connection;
use crate::database::Database;
use crate::error::{OpenError, StoreError};
use crate::queue::{Queue, start_thread};
use crate::reserve::Reserve;
use crate::sqlite::empty_log;
use crate::task::Task;

/// The writer thread.
pub(crate) struct Writer<M> {
    pub(crate) database: Arc<Database>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) reserve: Arc<Reserve>,
    /// The maximum number of tasks in one transaction.
    pub(crate) group: usize,
    /// Called in each transaction before its commit, with the time that it took until then.
    pub(crate) maintain: M,
    /// `None` before the first task, and after a fault. Dropping a connection rolls back its transaction.
    pub(crate) connection: Option<Connection>,
    /// The size of the log in bytes above which it is emptied.
    pub(crate) log_limit: u64,
    /// Open until the end. Without any connection, SQLite would remove the log and its index, and creating them again
    /// on a full disk is dangerous, since the index is memory-mapped.
    pub(crate) keeper: Option<rusqlite::Connection>,
    pub(crate) readers: Vec<JoinHandle<()>>,
    /// Dropped when the thread ends.
    pub(crate) _ended: Sender<()>,
}

/// The pause before each attempt to run a group. A further one follows if the connection was lost, or if another
/// transaction was in conflict.
const PAUSES: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(80),
];

impl<M> Writer<M>
where
    M: FnMut(&Connection, Duration) -> Result<(), StoreError> + Send + 'static,
{
    /// Starts the thread. It ends when the queue is closed and empty, and after the readers.
    pub(crate) fn start(mut self) -> Result<(), OpenError> {
        start_thread("store-writer", move || self.serve()).map(drop)
    }

    fn serve(&mut self) {
        // After a panic, the connection may be in any state.
        self.connection = None;
        let mut group = Group { tasks: Vec::new(), next: None, capacity: 0 };
        if let Err(error) = self.attempt(&mut group).and_then(|()| self.commit())
            && !error.is_outage()
        {
            warn!(%error, "initial write to the database failed");
        }
        while let Some(task) = self.queue.pop() {
            self.run(task);
        }
        self.end();
    }

    /// Runs a task and the waiting ones in one transaction. They are answered together after it, since the error of one
    /// may depend on changes of another.
    fn run(&mut self, first: Box<dyn Task>) {
        let mut group = Group { tasks: Vec::new(), next: Some(first), capacity: self.group.max(1) };
        let mut outcome = Ok(());
        let reserve = Arc::clone(&self.reserve);
        for pause in PAUSES {
            thread::sleep(pause);
            let attempt = || {
                let outcome = self.attempt(&mut group);
                let ran_out = outcome.as_ref().is_err_and(StoreError::is_of_memory)
                    || group.faults().any(StoreError::is_of_memory);
                (outcome, ran_out)
            };
            (outcome, _) = reserve.support(attempt, |(_, ran_out)| *ran_out);
            if outcome.is_ok() {
                outcome = self.commit().inspect_err(|error| {
                    if !error.is_outage() {
                        error!(?error, "commit failed");
                    }
                });
            }
            if outcome.is_ok() || !self.connection.take().is_some_and(|c| c.should_retry()) {
                break;
            }
        }
        if let Err(error) = &outcome {
            group.fail(error, &self.queue);
        }
        if group.faults().next().is_some() {
            self.connection = None;
        }
        group.tasks.into_iter().for_each(Task::answer);
    }

    /// Runs a group in a transaction, and leaves it open.
    fn attempt(&mut self, group: &mut Group) -> Result<(), StoreError> {
        // The transaction of an attempt that ran out of memory is rolled back.
        let idle = self.connection.take().filter(|connection| !connection.is_in_transaction());
        let connection = match idle {
            Some(connection) => self.connection.insert(connection),
            None => self.connection.insert(self.database.connect_for_writing()?),
        };
        connection.begin_write()?;
        let since = Instant::now();
        group.run(connection, &self.queue)?;
        connection.savepoint(|| {
            (self.maintain)(connection, since.elapsed()).map_err(|error| {
                if !error.is_outage() {
                    warn!(%error, "database maintenance failed");
                }
                Some(error)
            })
        })
    }

    /// Makes the open transaction durable.
    fn commit(&mut self) -> Result<(), StoreError> {
        if let Some(connection) = &self.connection {
            connection.commit()?;
            self.log_limit = self.database.shorten_log(connection, self.log_limit);
        }
        Ok(())
    }

    /// Leaves the database as one file.
    fn end(&mut self) {
        for reader in self.readers.drain(..) {
            // The thread ends when its queue is closed and empty. It has caught all panics.
            drop(reader.join());
        }
        self.connection = None;
        let close = |connection: rusqlite::Connection| {
            empty_log(&connection)?;
            connection.close().map_err(|(_, error)| error)
        };
        if let Some(Err(error)) = self.keeper.take().map(close) {
            warn!(%error, "failed to empty the log of the database on close");
        }
    }
}

/// The tasks of one transaction.
struct Group {
    /// The started tasks.
    tasks: Vec<Box<dyn Task>>,
    next: Option<Box<dyn Task>>,
    /// The number of further tasks.
    capacity: usize,
}

impl Group {
    /// Runs the tasks of an attempt that was rolled back, and then the waiting ones. An error is that of the
    /// transaction, and undoes the whole group.
    fn run(&mut self, connection: &Connection, queue: &Queue) -> Result<(), StoreError> {
        for task in &mut self.tasks {
            run_in_savepoint(task.as_mut(), connection)?;
        }
        while let Some(mut task) = self.next(queue) {
            match task.claim().begin() {
                Ok(()) => {
                    self.tasks.push(task);
                    let task = self.tasks.last_mut().map(Box::as_mut);
                    task.map_or(Ok(()), |task| run_in_savepoint(task, connection))?;
                }
                Err(reason) => {
                    task.fail(reason);
                    task.answer();
                }
            }
        }
        Ok(())
    }

    fn next(&mut self, queue: &Queue) -> Option<Box<dyn Task>> {
        let capacity = self.capacity.checked_sub(1)?;
        let task = self.next.take().or_else(|| queue.try_pop())?;
        self.capacity = capacity;
        Some(task)
    }

    /// Fails the whole group with the error of its transaction, and the waiting tasks if it could not be started.
    fn fail(&mut self, error: &StoreError, queue: &Queue) {
        if self.tasks.is_empty() {
            // Takes all tasks before the first one is answered, since its caller may retry.
            while let Some(mut task) = self.next(queue) {
                // One whose deadline has passed was not started in time, whatever prevented that.
                let late = task.claim().begin().err();
                task.fail(late.unwrap_or_else(|| error.clone()));
                self.tasks.push(task);
            }
            return;
        }
        // A task whose own fault ended the transaction keeps its error.
        for task in self.tasks.iter_mut().filter(|task| task.fault().is_none()) {
            task.fail(error.clone());
        }
    }

    fn faults(&self) -> impl Iterator<Item = &StoreError> {
        self.tasks.iter().filter_map(|task| task.fault())
    }
}

fn run_in_savepoint(task: &mut dyn Task, connection: &Connection) -> Result<(), StoreError> {
    connection.savepoint(|| if task.run(connection) { Ok(()) } else { Err(task.fault().cloned()) })
}
