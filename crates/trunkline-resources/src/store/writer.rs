use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tracing::{error, warn};

use super::error::is_out_of_memory;
use super::file::{DatabaseFile, WriteAheadLog, empty_log};
use super::group::Group;
use super::purge::Purge;
use super::queue::Queue;
use super::reserve::Reserve;
use super::task::Task;
use super::threads::{self, Ended};
use crate::error::OpenError;
use crate::settings::Settings;

/// Starts the thread that writes. It ends when the queue is closed and empty, and after `readers`.
pub(super) fn start(
    (file, keeper): (&Arc<DatabaseFile>, Connection),
    settings: &Settings,
    queue: &Arc<Queue>,
    reserve: &Arc<Reserve>,
    (readers, ended): (Vec<JoinHandle<()>>, &Arc<Ended>),
) -> Result<(), OpenError> {
    let mut writer = Writer {
        file: Arc::clone(file),
        queue: Arc::clone(queue),
        reserve: Arc::clone(reserve),
        bound: settings.group.max(1),
        purge: Purge::new(settings),
        log: file.log(),
        connection: None,
        keeper: Some(keeper),
        readers,
        ended: Arc::clone(ended),
    };
    threads::start("store-writer", move || writer.serve()).map(drop)
}

struct Writer {
    file: Arc<DatabaseFile>,
    queue: Arc<Queue>,
    reserve: Arc<Reserve>,
    bound: usize,
    purge: Purge,
    log: WriteAheadLog,
    /// None before the first task, and after an error that may have spoiled it. A connection that goes in a
    /// transaction rolls it back.
    connection: Option<Connection>,
    /// Open until the end. Without any connection, the log and its index would be taken away, and to make
    /// them again on a disk that is full is dangerous: the index is mapped into memory.
    keeper: Option<Connection>,
    readers: Vec<JoinHandle<()>>,
    ended: Arc<Ended>,
}

impl Writer {
    fn serve(&mut self) {
        // After a panic, the connection may be in the midst of anything.
        self.connection = None;
        if let Err(error) = self.begin().and_then(|connection| self.purge(connection)) {
            warn!(%error, "the database could not be written to at first");
        }
        while let Some(task) = self.queue.take() {
            self.run(task);
        }
        self.end();
    }

    /// Runs a task and those that wait, as one transaction.
    fn run(&mut self, first: Box<dyn Task>) {
        let mut group = Group::new(first, self.bound);
        let mut ran = None;
        let reserve = Arc::clone(&self.reserve);
        reserve.support(|| {
            // The transaction of the attempt before ends with its connection.
            ran = None;
            let attempt = self.attempt(&mut group);
            let ran_out =
                attempt.as_ref().is_err_and(is_out_of_memory) || group.ran_out_of_memory();
            ran = Some(attempt);
            ran_out
        });
        match ran {
            None => {}
            Some(Err(error)) => group.fail(&error, &self.queue),
            Some(Ok(connection)) => {
                if let Err(error) = self.commit(connection) {
                    error!(%error, "a commit failed");
                    group.fail(&error, &self.queue);
                }
            }
        }
        if group.met_storage_error() {
            self.connection = None;
        }
        group.answer();
        if let Some(connection) = &self.connection {
            self.log.shorten(connection);
        }
    }

    /// Runs a group in a transaction that has not ended then.
    fn attempt(&mut self, group: &mut Group) -> rusqlite::Result<Connection> {
        let connection = self.begin()?;
        let since = Instant::now();
        group.run(&connection, &self.queue)?;
        self.purge.bite_if_due(&connection, since.elapsed())?;
        Ok(connection)
    }

    /// Begins a transaction. It waits for the lock here, so that nothing after it does.
    fn begin(&mut self) -> rusqlite::Result<Connection> {
        let connection = self.take_connection()?;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute(())?;
        Ok(connection)
    }

    fn purge(&mut self, connection: Connection) -> rusqlite::Result<()> {
        self.purge.bite_if_due(&connection, Duration::ZERO)?;
        self.commit(connection)
    }

    /// Makes a transaction last.
    fn commit(&mut self, connection: Connection) -> rusqlite::Result<()> {
        connection.prepare_cached("COMMIT")?.execute(())?;
        self.connection = Some(connection);
        Ok(())
    }

    fn take_connection(&mut self) -> rusqlite::Result<Connection> {
        self.connection.take().map_or_else(|| self.file.connect_for_writing(), Ok)
    }

    /// Leaves the database as one file.
    fn end(&mut self) {
        for reader in self.readers.drain(..) {
            // It ends when its queue is closed and empty, and has caught what panicked.
            drop(reader.join());
        }
        self.connection = None;
        if let Some(Err(error)) = self.keeper.take().map(close) {
            warn!(%error, "the log of the database stays beside it");
        }
        self.ended.set();
    }
}

fn close(connection: Connection) -> rusqlite::Result<()> {
    empty_log(&connection)?;
    connection.close().map_err(|(_, error)| error)
}
