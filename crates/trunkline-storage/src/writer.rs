use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tracing::{error, warn};

use crate::database::{Database, empty_log};
use crate::error::{OpenError, StoreError};
use crate::queue::{Queue, start_thread};
use crate::reserve::Reserve;
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
    /// Open until the end. Without any connection, SQLite would remove the log and its index, and creating them again on
    /// a full disk is dangerous, since the index is memory-mapped.
    pub(crate) keeper: Option<Connection>,
    pub(crate) readers: Vec<JoinHandle<()>>,
    /// Dropped when the thread ends.
    pub(crate) _ended: Sender<()>,
}

impl<M> Writer<M>
where
    M: FnMut(&Connection, Duration) -> rusqlite::Result<()> + Send + 'static,
{
    /// Starts the thread. It ends when the queue is closed and empty, and after the readers.
    pub(crate) fn start(mut self) -> Result<(), OpenError> {
        start_thread("store-writer", move || self.serve()).map(drop)
    }

    fn serve(&mut self) {
        // Filled here, so that opening the store does not wait for it.
        self.reserve.fill();
        // After a panic, the connection may be in any state.
        self.connection = None;
        let mut group = Group { tasks: Vec::new(), next: None, capacity: 0 };
        if let Err(error) = self.attempt(&mut group).and_then(|()| self.commit()) {
            warn!(%error, "initial write to the database failed");
        }
        while let Some(task) = self.queue.pop() {
            self.run(task);
        }
        self.end();
    }

    /// Runs a task and the waiting ones in one transaction. They are answered together after it, since the error of one may
    /// depend on changes of another.
    fn run(&mut self, first: Box<dyn Task>) {
        let mut group = Group { tasks: Vec::new(), next: Some(first), capacity: self.group.max(1) };
        let mut outcome = Ok(());
        let reserve = Arc::clone(&self.reserve);
        reserve.support(|| {
            outcome = self.attempt(&mut group);
            outcome.as_ref().is_err_and(StoreError::is_of_memory)
                || group.faults().any(StoreError::is_of_memory)
        });
        if outcome.is_ok() {
            outcome = self.commit().inspect_err(|error| error!(?error, "commit failed"));
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
        let connection = match self.connection.take().filter(Connection::is_autocommit) {
            Some(connection) => connection,
            None => self.database.connect_for_writing()?,
        };
        // Waits for the lock here, so that no later statement does.
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
        let since = Instant::now();
        group.run(&connection, &self.queue)?;
        savepoint(&connection, || {
            (self.maintain)(&connection, since.elapsed()).map_err(|error| {
                warn!(%error, "database maintenance failed");
                Some(error.into())
            })
        })?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Makes the open transaction durable.
    fn commit(&mut self) -> Result<(), StoreError> {
        if let Some(connection) = self.connection.take() {
            connection.prepare_cached("COMMIT")?.execute(())?;
            self.log_limit = self.database.shorten_log(&connection, self.log_limit);
            self.connection = Some(connection);
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
        let close = |connection: Connection| {
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
    /// Runs the tasks of an attempt that was rolled back, and then the waiting ones. An error is that of the transaction,
    /// and undoes the whole group.
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
            while let Some(task) = self.next(queue) {
                self.tasks.push(task);
            }
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
    savepoint(connection, || if task.run(connection) { Ok(()) } else { Err(task.fault().cloned()) })
}

/// Runs `work` in a savepoint, and rolls it back if it fails. An error is that of the transaction.
fn savepoint(
    connection: &Connection,
    work: impl FnOnce() -> Result<(), Option<StoreError>>,
) -> Result<(), StoreError> {
    connection.prepare_cached("SAVEPOINT work")?.execute(())?;
    let outcome = work();
    // Some errors, such as that of a full disk, roll back the whole transaction.
    if connection.is_autocommit() {
        return Err(outcome.err().flatten().unwrap_or_else(|| {
            let cause: Box<dyn Error + Send + Sync> = "the work ended its transaction".into();
            StoreError::Failed(cause.into())
        }));
    }
    if outcome.is_err() {
        connection.prepare_cached("ROLLBACK TO work")?.execute(())?;
    }
    connection.prepare_cached("RELEASE work")?.execute(())?;
    Ok(())
}
