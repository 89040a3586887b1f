use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::{Schema, StoreConfig};
use crate::connection::Connection;
use crate::deferred::Deferred;
use crate::error::{OpenError, StoreError, WorkError};
use crate::location::Location;
use crate::workers::Workers;

/// A database with its threads. Cloning is cheap; the threads end with the last clone.
///
/// The methods take `cancel`, a future whose completion cancels the work, such as that of a cancellation token. Their
/// futures require a tokio runtime with timers.
#[derive(Clone)]
pub struct Store(Arc<Deferred>);

impl Store {
    /// Opens the database of a location, and migrates its schema. A directory and its file are created if they are
    /// missing, for their owner only. Blocks.
    ///
    /// The writer calls `maintain` once at the start and before each commit, with the time that the transaction took
    /// until then. Its errors are logged, and its changes rolled back.
    ///
    /// # Errors
    /// If the database cannot be created, opened or migrated, belongs to another program, or was written by a newer
    /// version.
    pub fn open(
        location: impl Into<Location>,
        schema: Schema,
        config: StoreConfig,
        maintain: impl FnMut(&Connection, Duration) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<Self, OpenError> {
        let store = Self::deferred(location, schema, config, maintain);
        store.0.open()?;
        Ok(store)
    }

    /// Like [`open`](Self::open), but the first write creates a missing file. Until then, reads see an empty database.
    /// An existing file is opened by the first read or write. If the file cannot be opened or created, the work fails,
    /// and the next work tries again. A PostgreSQL database is migrated by the first work. Work waits for the opening
    /// up to the timeout of the configuration; the opening continues without it. The first store of a process reserves
    /// memory, which takes milliseconds.
    pub fn deferred(
        location: impl Into<Location>,
        schema: Schema,
        config: StoreConfig,
        maintain: impl FnMut(&Connection, Duration) -> Result<(), StoreError> + Send + 'static,
    ) -> Self {
        Self(Arc::new(Deferred::new(location.into(), schema, config, maintain)))
    }

    /// Opens a [deferred](Self::deferred) store if its file exists. Otherwise checks that it could be created, and
    /// creates nothing. Blocks.
    ///
    /// # Errors
    /// Those of [`open`](Self::open). The store can still be used.
    pub fn prepare(&self) -> Result<(), OpenError> {
        self.0.prepare()
    }

    /// The reason why the last work could not read or write, if any. It is safe to send to a client. Does not access
    /// the file.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.0.opened().map_or_else(|| self.0.problem(), Workers::problem)
    }

    /// The problem of an outage: the database server cannot be reached. Ends with the next work, or with the attempt to
    /// reach the server that a call of this begins. It is safe to send to a client.
    #[must_use]
    pub fn outage(&self) -> Option<String> {
        self.0.opened().and_then(Workers::outage)
    }

    /// Runs `work`, which occupies about `bytes` of memory, in the writer's next transaction, and returns when its
    /// commit is durable. An error rolls back its own changes only. The work runs again if memory ran out or the
    /// connection to the server was lost before the commit.
    ///
    /// # Errors
    /// An error of the work, or of the store.
    ///
    /// # Cancel safety
    /// Dropping the future before the work starts prevents it. Later, the work is completed.
    pub async fn write<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        bytes: usize,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        self.write_then(cancel, bytes, work, |_| {}).await
    }

    /// Like [`write`](Self::write), and calls `committed` with the value of the work after the commit, also if the
    /// future was dropped. It runs on the thread of the writer, and must not block.
    ///
    /// # Errors
    /// An error of the work, or of the store.
    ///
    /// # Cancel safety
    /// As of [`write`](Self::write).
    pub async fn write_then<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        bytes: usize,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
        committed: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, E> {
        let mut cancel = pin!(cancel);
        let workers = self.0.for_writing(cancel.as_mut()).await?;
        workers.write(cancel, bytes, work, committed).await
    }

    /// Runs `work` in a transaction that sees one state of the database. The work runs again if memory ran
    /// out, or the connection to the server was lost.
    ///
    /// # Errors
    /// An error of the work, or of the store.
    ///
    /// # Cancel safety
    /// Dropping the future interrupts the work.
    pub async fn read<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let mut cancel = pin!(cancel);
        match self.0.for_reading(cancel.as_mut()).await? {
            Some(workers) => workers.read(cancel, work).await,
            None => self.0.read_empty(cancel, work).await,
        }
    }

    /// Like [`read`](Self::read), for work that reads many rows. Fewer scans run concurrently. `work` should return
    /// by the given instant with a partial result.
    ///
    /// # Errors
    /// An error of the work, or of the store.
    ///
    /// # Cancel safety
    /// Dropping the future interrupts the work.
    pub async fn scan<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        mut work: impl FnMut(&Connection, Instant) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let mut cancel = pin!(cancel);
        match self.0.for_reading(cancel.as_mut()).await? {
            Some(workers) => workers.scan(cancel, work).await,
            None => {
                let max_time = self.0.config().max_scan_time;
                let work = move |connection: &_| work(connection, Instant::now() + max_time);
                self.0.read_empty(cancel, work).await
            }
        }
    }

    /// Closes the store: rejects further work, completes accepted work, and waits until the threads have ended. Blocks.
    /// Returns false if that takes longer than `timeout`.
    #[must_use]
    pub fn close(&self, timeout: Duration) -> bool {
        self.0.close().is_none_or(|workers| workers.close(timeout))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("problem", &self.problem()).finish_non_exhaustive()
    }
}
