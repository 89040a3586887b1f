use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::claim::Claim;
use crate::config::{Schema, StoreConfig};
use crate::connection::Connection;
use crate::database::Database;
use crate::error::{OpenError, StoreError, WorkError};
use crate::location::Location;
use crate::reserve::Reserve;
use crate::task::task;
use crate::workers::{Workers, lock};

/// A database that is opened by the first read of an existing file, or created by the first write.
pub(crate) struct Deferred {
    database: Arc<Database>,
    config: StoreConfig,
    maintain: Arc<Mutex<Maintain>>,
    opened: OnceLock<Workers>,
    /// Held while the file is opened.
    opening: Mutex<()>,
    /// Limits the threads that open the file or wait for that.
    openers: Arc<Semaphore>,
    /// The reason why the last attempt failed.
    problem: Mutex<Option<String>>,
    is_closed: AtomicBool,
    reserve: Arc<Reserve>,
}

type Maintain = Box<dyn FnMut(&Connection, Duration) -> Result<(), StoreError> + Send>;

impl Deferred {
    pub(crate) fn new(
        location: Location,
        schema: Schema,
        config: StoreConfig,
        maintain: impl FnMut(&Connection, Duration) -> Result<(), StoreError> + Send + 'static,
    ) -> Self {
        let reserve = Reserve::shared();
        reserve.fill();
        Self {
            database: Arc::new(Database::new(location, schema, &config)),
            config,
            maintain: Arc::new(Mutex::new(Box::new(maintain))),
            opened: OnceLock::new(),
            opening: Mutex::default(),
            openers: Arc::new(Semaphore::new(1)),
            problem: Mutex::default(),
            is_closed: AtomicBool::new(false),
            reserve,
        }
    }

    /// The open file, if any.
    pub(crate) fn opened(&self) -> Option<&Workers> {
        self.opened.get()
    }

    pub(crate) fn config(&self) -> &StoreConfig {
        &self.config
    }

    /// The reason why the file could not be opened.
    pub(crate) fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    /// Opens the file if it exists; otherwise checks that it could be created. Blocks.
    pub(crate) fn prepare(&self) -> Result<(), OpenError> {
        if self.database.exists() {
            return self.open();
        }
        let checked = self.database.check_creation();
        *lock(&self.problem) = checked.as_ref().err().map(reason);
        checked
    }

    /// The open file. Creates it if it is missing.
    pub(crate) async fn for_writing(
        self: &Arc<Self>,
        cancel: impl Future<Output = ()>,
    ) -> Result<&Workers, StoreError> {
        if self.opened().is_none() {
            self.claim().in_time(cancel, self.open_in_background()).await??;
        }
        self.opened().ok_or(StoreError::Closed)
    }

    /// The open file. `None` if it does not exist.
    pub(crate) async fn for_reading(
        self: &Arc<Self>,
        cancel: impl Future<Output = ()>,
    ) -> Result<Option<&Workers>, StoreError> {
        if self.opened().is_none() {
            let database = Arc::clone(&self.database);
            let opening = async {
                let exists = in_background(move || database.exists()).await?;
                if exists {
                    self.open_in_background().await?;
                }
                Ok::<_, StoreError>(exists)
            };
            let exists = self.claim().in_time(cancel, opening).await??;
            if !exists && !self.is_closed.load(Ordering::Acquire) {
                return Ok(None);
            }
        }
        self.opened().map(Some).ok_or(StoreError::Closed)
    }

    /// Opens the file on a thread. Only one thread opens it; others that need it wait without a thread.
    async fn open_in_background(self: &Arc<Self>) -> Result<(), StoreError> {
        let permit = Arc::clone(&self.openers).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        if self.opened().is_some() {
            return Ok(());
        }
        let deferred = Arc::clone(self);
        let opening = in_background(move || {
            // Held until the attempt ends, which may be after its caller has abandoned it.
            let _permit = permit;
            deferred.open()
        });
        Ok(opening.await??)
    }

    /// The limit of the time to open the file, or of a read without a file.
    fn claim(&self) -> Arc<Claim> {
        Claim::new(self.config.timeout, 0)
    }

    /// Runs work on an empty in-memory database.
    pub(crate) async fn read_empty<T: Send + 'static, E: WorkError>(
        &self,
        cancel: impl Future<Output = ()>,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (schema, reserve) = (*self.database.schema(), Arc::clone(&self.reserve));
        let (mut task, mut pending) = task(self.claim(), work, |_| {});
        spawn_blocking(move || {
            let attempt = || {
                match empty(schema) {
                    Ok(connection) => drop(task.run(&connection.into())),
                    Err(error) => task.fail(error.into()),
                }
                task.fault().is_some_and(StoreError::is_of_memory) && !task.claim().is_over()
            };
            reserve.support(attempt, |ran_out| *ran_out);
            task.answer();
        });
        pending.in_time(cancel).await?
    }

    /// Closes the store for further work, and returns the open file, if any.
    pub(crate) fn close(&self) -> Option<&Workers> {
        self.is_closed.store(true, Ordering::Release);
        // Waits for an attempt to open the file.
        drop(lock(&self.opening));
        self.opened()
    }

    /// Opens the file. Blocks.
    pub(crate) fn open(&self) -> Result<(), OpenError> {
        let _opening = lock(&self.opening);
        if self.opened.get().is_none() && !self.is_closed.load(Ordering::Acquire) {
            let ran_out =
                |opened: &Result<_, OpenError>| opened.as_ref().is_err_and(OpenError::is_of_memory);
            let opened = self.reserve.support(|| self.start(), ran_out);
            *lock(&self.problem) = opened.as_ref().err().map(reason);
            // The lock is held, so no other thread has set it.
            drop(self.opened.set(opened?));
        }
        Ok(())
    }

    fn start(&self) -> Result<Workers, OpenError> {
        let maintain = Arc::clone(&self.maintain);
        let maintain = move |connection: &_, transaction| lock(&maintain)(connection, transaction);
        let (database, reserve) = (Arc::clone(&self.database), Arc::clone(&self.reserve));
        Workers::start(database, reserve, self.config.clone(), maintain)
    }
}

/// An empty in-memory database with the tables of the schema.
fn empty(schema: Schema) -> rusqlite::Result<rusqlite::Connection> {
    let connection = rusqlite::Connection::open_in_memory()?;
    schema.migrations.iter().try_for_each(|migration| connection.execute_batch(migration))?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Runs blocking work on a dedicated thread.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
        Ok(panic) => StoreError::of_panic(&*panic),
        Err(_) => StoreError::Closed,
    })
}

/// The problem of a file that could not be opened, without its path.
fn reason(error: &OpenError) -> String {
    error.disk_reason().unwrap_or_else(|| "the storage failed".to_owned())
}
