use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use tracing::warn;

use super::error::is_busy;
use super::migrations;
use crate::error::OpenError;
use crate::settings::Settings;

/// Where the database is, and how it is connected to.
pub(super) struct DatabaseFile {
    path: PathBuf,
    lock_wait: Duration,
    log_bytes: u64,
}

const NAME: &str = "trunkline.sqlite";

/// Statements that a connection keeps ready: more than there are.
const CACHED_STATEMENTS: usize = 32;

/// Between two tries to open a file that another process opens as well. Some of the locks that this takes
/// have no other way to wait.
const RETRY_AFTER: Duration = Duration::from_millis(5);

impl DatabaseFile {
    /// Makes what is missing, and brings the schema up to date. The connection is one that may be kept.
    pub(super) fn prepare(
        directory: &Path,
        settings: &Settings,
    ) -> Result<(Arc<Self>, Connection), OpenError> {
        make_directory(directory)
            .map_err(|source| OpenError::Directory { path: directory.to_owned(), source })?;
        let path = directory.join(NAME);
        make_file(&path).map_err(|source| OpenError::File { path: path.clone(), source })?;
        let file = Self { path, lock_wait: settings.lock_wait, log_bytes: settings.max_log_bytes };
        let since = Instant::now();
        loop {
            match file.migrate() {
                Err(OpenError::Sqlite { source, .. })
                    if is_busy(&source) && since.elapsed() < settings.lock_wait =>
                {
                    thread::sleep(RETRY_AFTER);
                }
                done => return done.map(|connection| (Arc::new(file), connection)),
            }
        }
    }

    fn migrate(&self) -> Result<Connection, OpenError> {
        let connection = self.connect_for_writing().map_err(|source| self.failed(source))?;
        migrations::run(&connection, &self.path)?;
        Ok(connection)
    }

    pub(super) fn connect_for_writing(&self) -> rusqlite::Result<Connection> {
        let connection = self.connect()?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let log_bytes = i64::try_from(self.log_bytes).unwrap_or(i64::MAX);
        connection.pragma_update(None, "journal_size_limit", log_bytes)?;
        Ok(connection)
    }

    pub(super) fn log(&self) -> WriteAheadLog {
        let mut path = self.path.clone().into_os_string();
        path.push("-wal");
        WriteAheadLog::new(path.into(), self.log_bytes)
    }

    pub(super) fn connect_for_reading(&self) -> rusqlite::Result<Connection> {
        let connection = self.connect()?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        // Not `CREATE`: a file that was taken away is an error, not an empty store.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(self.lock_wait)?;
        connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        Ok(connection)
    }

    fn failed(&self, source: rusqlite::Error) -> OpenError {
        OpenError::Sqlite { path: self.path.clone(), source }
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// SQLite would make the file, but for everyone; its log takes over the permissions of the file.
fn make_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// SQLite's write-ahead log. SQLite restarts it when no connection reads from it, which never happens if reads overlap
/// all the time.
pub(super) struct WriteAheadLog {
    path: PathBuf,
    bound: u64,
    /// Bytes from which on it is too long.
    next: u64,
}

impl WriteAheadLog {
    fn new(path: PathBuf, bound: u64) -> Self {
        Self { path, bound, next: bound }
    }

    /// Empties the log if it is too long. Waits for connections that read from it, as long as the connection
    /// waits for a lock; later ones read from the database.
    pub(super) fn shorten(&mut self, connection: &Connection) {
        let bytes = fs::metadata(&self.path).map_or(0, |file| file.len());
        if bytes <= self.next {
            return;
        }
        match empty_log(connection) {
            Ok(true) => self.next = self.bound,
            Ok(false) => {
                // A connection reads for a long time. Not every commit must wait for it.
                self.next = bytes.saturating_add(self.bound);
                warn!(bytes, "the log of the database grows: someone reads from it all the time");
            }
            Err(error) => {
                self.next = bytes.saturating_add(self.bound);
                warn!(%error, bytes, "the log of the database grows");
            }
        }
    }
}

/// Moves all of the log into the database. False if a connection still reads from it.
pub(super) fn empty_log(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "PRAGMA wal_checkpoint(TRUNCATE)",
        (),
        |row| Ok(row.get::<_, i64>(0)? == 0),
    )
}
