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

/// The thread that writes.
pub(crate) struct Writer<M> {
    pub(crate) database: Arc<Database>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) reserve: Arc<Reserve>,
    /// The maximum number of tasks in one transaction.
    pub(crate) group: usize,
    /// Called in each transaction before its commit, with the time that it took until then.
    pub(crate) maintain: M,
    /// None before the first task, and after a fault. A connection that is dropped in a transaction rolls it back.
    pub(crate) connection: Option<Connection>,
    /// The bytes of the log above which it is emptied.
    pub(crate) log_limit: u64,
    /// Open until the end. Without any connection, the log and its index would be removed, and to create them again on
    /// a full disk is dangerous: the index is mapped into memory.
    pub(crate) keeper: Option<Connection>,
    pub(crate) readers: Vec<JoinHandle<()>>,
    /// Disconnected when the thread has ended.
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
        // Here, and not where the store is opened: a server listens without waiting for it.
        self.reserve.fill();
        // After a panic, the connection may be in any state.
        self.connection = None;
        let mut group = Group { tasks: Vec::new(), next: None, room: 0 };
        if let Err(error) = self.attempt(&mut group).and_then(|()| self.commit()) {
            warn!(%error, "the database could not be written to at first");
        }
        while let Some(task) = self.queue.pop() {
            self.run(task);
        }
        self.end();
    }

    /// Runs a task and those that wait, as one transaction. They are answered together, when it is over: why one of them
    /// failed may depend on what another one did.
    fn run(&mut self, first: Box<dyn Task>) {
        let mut group = Group { tasks: Vec::new(), next: Some(first), room: self.group.max(1) };
        let mut outcome = Ok(());
        let reserve = Arc::clone(&self.reserve);
        reserve.support(|| {
            outcome = self.attempt(&mut group);
            outcome.as_ref().is_err_and(StoreError::is_of_memory)
                || group.faults().any(StoreError::is_of_memory)
        });
        if outcome.is_ok() {
            outcome = self.commit().inspect_err(|error| error!(?error, "a commit failed"));
        }
        if let Err(error) = &outcome {
            group.fail(error, &self.queue);
        }
        if group.faults().next().is_some() {
            self.connection = None;
        }
        group.tasks.into_iter().for_each(Task::answer);
    }

    /// Runs a group in a transaction, which is left open.
    fn attempt(&mut self, group: &mut Group) -> Result<(), StoreError> {
        // An attempt that ran out of memory leaves its transaction to be rolled back.
        let connection = match self.connection.take().filter(Connection::is_autocommit) {
            Some(connection) => connection,
            None => self.database.connect_for_writing()?,
        };
        // It waits for the lock here, so that nothing after it does.
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
        let since = Instant::now();
        group.run(&connection, &self.queue)?;
        savepoint(&connection, || {
            (self.maintain)(&connection, since.elapsed()).map_err(|error| {
                warn!(%error, "the maintenance of the database failed");
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
            // It ends when its queue is closed and empty, and has caught what panicked.
            drop(reader.join());
        }
        self.connection = None;
        let close = |connection: Connection| {
            empty_log(&connection)?;
            connection.close().map_err(|(_, error)| error)
        };
        if let Some(Err(error)) = self.keeper.take().map(close) {
            warn!(%error, "the database was closed without emptying its log");
        }
    }
}

/// The tasks of one transaction.
struct Group {
    /// Those that have begun.
    tasks: Vec<Box<dyn Task>>,
    next: Option<Box<dyn Task>>,
    /// The number of further tasks.
    room: usize,
}

impl Group {
    /// Runs the tasks of an attempt that was rolled back, and then those that wait. The error is that of the
    /// transaction: then nothing of the group is done.
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
        let room = self.room.checked_sub(1)?;
        let task = self.next.take().or_else(|| queue.try_pop())?;
        self.room = room;
        Some(task)
    }

    /// Fails all of the group for the error of its transaction; if it could not begin, also those that wait.
    fn fail(&mut self, error: &StoreError, queue: &Queue) {
        if self.tasks.is_empty() {
            // All are taken before the first one is answered: its caller may come again.
            while let Some(task) = self.next(queue) {
                self.tasks.push(task);
            }
        }
        // A task whose own fault ended the transaction keeps it.
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

/// Runs `work`, and undoes it if it fails. The error is that of the transaction.
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
