use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use tracing::warn;

use crate::config::{Schema, StoreConfig};
use crate::error::{OpenError, StoreError};

/// A file of SQLite and the settings of its connections.
pub(crate) struct File {
    directory: PathBuf,
    path: PathBuf,
    schema: Schema,
    lock_wait: Duration,
    pub(crate) max_log_bytes: u64,
    erase_deleted: bool,
}

/// The number of prepared statements that a connection caches.
const CACHED_STATEMENTS: usize = 32;

/// The pause between attempts to open a file that another process is opening. Some of the locks cannot be waited for.
const RETRY_AFTER: Duration = Duration::from_millis(5);

impl File {
    pub(crate) fn new(directory: &Path, schema: Schema, config: &StoreConfig) -> Self {
        let StoreConfig { lock_wait, erase_deleted, .. } = *config;
        let max_log_bytes = if erase_deleted { 0 } else { config.max_log_bytes };
        let (directory, path) = (directory.to_owned(), directory.join(schema.file));
        Self { directory, path, schema, lock_wait, max_log_bytes, erase_deleted }
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether the path of the file exists.
    pub(crate) fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Checks that the file can probably be created, without creating it.
    pub(crate) fn check_creation(&self) -> Result<(), OpenError> {
        let directory = &self.directory;
        let mut existing = directory.ancestors().filter(|path| path.symlink_metadata().is_ok());
        let existing = existing.next().unwrap_or(Path::new("."));
        check_writable(existing)
            .map_err(|source| OpenError::Create { path: directory.clone(), source })
    }

    /// Creates the directory and the file if they are missing, and migrates the schema. The connection is left open.
    pub(crate) fn open(&self) -> Result<Connection, OpenError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| OpenError::Create { path, source }
        };
        create_directory(&self.directory).map_err(failed(&self.directory))?;
        create_file(&self.path).map_err(failed(&self.path))?;
        let since = Instant::now();
        loop {
            match self.migrate() {
                Err(OpenError::Open { source: StoreError::Busy, .. })
                    if since.elapsed() < self.lock_wait =>
                {
                    thread::sleep(RETRY_AFTER);
                }
                outcome => return outcome,
            }
        }
    }

    fn migrate(&self) -> Result<Connection, OpenError> {
        let failed = |error| self.failed(error);
        let connection = self.connect_for_writing().map_err(failed)?;
        if self.version(&connection)? < self.newest() {
            if self.erase_deleted {
                // Takes effect only on an empty file.
                connection.pragma_update(None, "auto_vacuum", "incremental").map_err(failed)?;
            }
            connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
        }
        for (migration, number) in self.schema.migrations.iter().zip(1..) {
            if self.version(&connection)? >= number {
                continue;
            }
            let transaction =
                Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)
                    .map_err(failed)?;
            // Another process may have migrated the file before this one acquired the lock.
            if self.version(&transaction)? < number {
                let id = self.schema.application_id;
                transaction
                    .execute_batch(migration)
                    .and_then(|()| transaction.pragma_update(None, "application_id", id))
                    .and_then(|()| transaction.pragma_update(None, "user_version", number))
                    .map_err(failed)?;
            }
            transaction.commit().map_err(failed)?;
        }
        Ok(connection)
    }

    /// The version of the schema; 0 for an empty file.
    fn version(&self, connection: &Connection) -> Result<u32, OpenError> {
        let marks = connection.query_row(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
             FROM pragma_application_id, pragma_user_version",
            (),
            |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?)),
        );
        let (path, known) = (self.path.clone(), self.newest());
        match marks.map_err(|error| self.failed(error))? {
            (0, 0, 0) => Ok(0),
            (id, _, _) if id != self.schema.application_id => Err(OpenError::Foreign { path }),
            (_, found, _) if found > known => Err(OpenError::Newer { path, found, known }),
            (_, version, _) => Ok(version),
        }
    }

    fn newest(&self) -> u32 {
        u32::try_from(self.schema.migrations.len()).unwrap_or(u32::MAX)
    }

    fn failed(&self, error: rusqlite::Error) -> OpenError {
        OpenError::Open { path: self.path.clone(), source: error.into() }
    }

    pub(crate) fn connect_for_writing(&self) -> rusqlite::Result<Connection> {
        let connection = self.connect()?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "secure_delete", self.erase_deleted)?;
        let log_bytes = i64::try_from(self.max_log_bytes).unwrap_or(i64::MAX);
        connection.pragma_update(None, "journal_size_limit", log_bytes)?;
        Ok(connection)
    }

    pub(crate) fn connect_for_reading(&self) -> rusqlite::Result<Connection> {
        let connection = self.connect()?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        // Without `CREATE`: a file that was removed is an error, not an empty store.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(self.lock_wait)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        Ok(connection)
    }

    /// Empties the write-ahead log if it has more than `limit` bytes, and returns the next limit. SQLite restarts the
    /// log when no connection reads from it, which never happens with constantly overlapping reads. This waits for
    /// current readers, up to the lock timeout; later ones read from the database.
    pub(crate) fn shorten_log(&self, connection: &Connection, limit: u64) -> u64 {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let bytes = fs::metadata(log).map_or(0, |file| file.len());
        if bytes <= limit {
            return limit;
        }
        match self.vacuum(connection).and_then(|()| empty_log(connection)) {
            Ok(true) => return self.max_log_bytes,
            Ok(false) => warn!(bytes, "the database log grows, because it is constantly read"),
            Err(error) => warn!(%error, bytes, "the database log grows"),
        }
        // Raised, so that not every commit waits for a long-running read.
        if self.erase_deleted { 0 } else { bytes.saturating_add(self.max_log_bytes) }
    }

    /// Returns free pages to the file system. Each step returns one page.
    fn vacuum(&self, connection: &Connection) -> rusqlite::Result<()> {
        if self.erase_deleted {
            let mut vacuum = connection.prepare_cached("PRAGMA incremental_vacuum")?;
            let mut pages = vacuum.query(())?;
            while pages.next()?.is_some() {}
        }
        Ok(())
    }
}

/// Moves the log into the database. Returns false if a connection still reads from it.
pub(crate) fn empty_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "PRAGMA wal_checkpoint(TRUNCATE)",
        (),
        |row| Ok(row.get::<_, i64>(0)? == 0),
    )
}

/// Checks that files can be created in a directory.
fn check_writable(directory: &Path) -> io::Result<()> {
    if !fs::metadata(directory)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        access(directory, Access::WRITE_OK | Access::EXEC_OK)?;
    }
    Ok(())
}

fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates the file for its owner only, unlike SQLite. The log inherits the permissions of the file.
fn create_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}
