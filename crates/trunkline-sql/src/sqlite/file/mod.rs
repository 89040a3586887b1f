//! The database file, which is opened so that serving it creates no other files and changes only what callers write.

mod fingerprint;
mod watch;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use rusqlite::{Connection, OpenFlags};

use crate::model::committed_change::CommittedChange;
use crate::sqlite::config::SqliteConfig;
use crate::sqlite::listeners::Listeners;
use crate::sqlite::open_error::{OpenError, is_directory_writable};
use crate::sqlite::security::{self, Role};
use fingerprint::Content;
use watch::{OpenFile, PathWatch};

pub(super) use fingerprint::{FileFingerprint, with_suffix};
pub(super) use watch::regular_file;

/// Creates an empty database at `path`: a file of no bytes, which SQLite reads as a database without
/// tables.
///
/// # Errors
///
/// `AlreadyExists` if there is a file, which is not changed, and other errors of the operating system.
pub fn create_empty(path: impl AsRef<Path>) -> io::Result<()> {
    File::create_new(path).map(drop)
}

/// The served database file, which may be replaced.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    watch: Mutex<PathWatch>,
    /// The listeners to changes of the content.
    pub(super) listeners: Listeners,
    /// The content after the last write by a call, or at the last check. Locked while a call writes.
    content: Mutex<Option<Content>>,
}

/// A lock that is held while a call writes, so that its own write is not reported as that of another process.
pub(crate) struct OwnWrite<'f> {
    file: &'f DatabaseFile,
    content: MutexGuard<'f, Option<Content>>,
}

/// A hardened connection.
pub(crate) struct HardenedConnection {
    pub(crate) inner: Connection,
    pub(crate) role: Role,
    file: Arc<DatabaseFile>,
    open_file: OpenFile,
    access: Access,
}

/// The way in which a connection detects writes of other processes.
enum Access {
    /// By SQLite's locks on the file.
    RollbackJournal,
    /// By the log and its index, which exist.
    SharedLog,
    /// By SQLite's locks, or by the log, which a writer creates.
    Writing,
    /// Not at all. Results are valid only while the fingerprint matches.
    Unlocked(FileFingerprint),
}

impl DatabaseFile {
    pub(crate) fn find(path: &Path) -> Result<Self, OpenError> {
        let watch = Mutex::new(PathWatch::find(path)?);
        Ok(Self { watch, listeners: Listeners::default(), content: Mutex::default() })
    }

    /// The file at the path, which is checked at most once per second.
    ///
    /// # Errors
    /// [`OpenError::Missing`] and [`OpenError::Replaced`].
    pub(crate) fn open_file(&self) -> Result<OpenFile, OpenError> {
        self.watch().open_file()
    }

    /// Notifies the listeners if another process has changed the content since the last check. While a call writes,
    /// nothing is checked. Blocks for a few calls of the operating system.
    pub(super) fn check_content(&self) {
        let mut last = match self.content.try_lock() {
            Ok(last) => last,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let Some(found) = self.content() else { return };
        let is_changed = last.as_ref().is_some_and(|last| *last != found);
        *last = Some(found);
        drop(last);
        if is_changed {
            self.listeners.notify(&CommittedChange::unknown());
        }
    }

    pub(super) fn begin_own_write(&self) -> OwnWrite<'_> {
        let content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        OwnWrite { file: self, content }
    }

    fn content(&self) -> Option<Content> {
        Content::of(&self.open_file().ok()?.path()).ok()
    }

    /// The size of the write-ahead log in bytes; 0 without a log.
    pub(super) fn wal_size(&self) -> u64 {
        let Ok(served) = self.open_file() else { return 0 };
        let mut path = served.path().into_os_string();
        path.push("-wal");
        std::fs::metadata(path).map_or(0, |metadata| metadata.len())
    }

    fn check(&self) -> Result<OpenFile, OpenError> {
        let mut watch = self.watch();
        watch.check();
        watch.open_file()
    }

    fn watch(&self) -> MutexGuard<'_, PathWatch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection that changes no byte of the file and creates no other file.
    ///
    /// A database in WAL mode is the hard case. SQLite reads it through a `-wal` and a `-shm` file, and
    /// creates both if they are missing, even for a read-only connection, which cannot remove them
    /// afterwards. They are missing exactly when no process has the database open, and then the main file
    /// holds everything: so it is opened as `immutable`, which reads the main file alone, without locks.
    /// That alone would be unsafe, since a writer may come at any time. Therefore the file's [`FileFingerprint`] is
    /// compared before and after each call ([`HardenedConnection::is_current`]): a result that a writer may have torn
    /// is thrown away and read again. If `-wal` and `-shm` exist, the connection shares them in the
    /// ordinary way, as the processes do that made them.
    pub(crate) fn connect(
        self: &Arc<Self>,
        config: &SqliteConfig,
    ) -> Result<HardenedConnection, OpenError> {
        let open_file = self.check()?;
        let access = open_file
            .access()
            .map_err(|source| OpenError::Io { path: open_file.path(), source })?;
        let connection = open_file.connect(matches!(access, Access::Unlocked(_)));
        self.harden((open_file, connection), Role::reader(), access, config)
    }

    /// Opens a connection that may change the file, and rolls back the transaction of a crashed writer. In WAL mode it
    /// creates the log and its index, and removes them when it is closed as the last one of all processes. So it is
    /// opened before the readers, which share the files, and closed after them.
    pub(crate) fn connect_for_writing(
        self: &Arc<Self>,
        config: &SqliteConfig,
    ) -> Result<HardenedConnection, OpenError> {
        let open_file = self.check()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(open_file.path(), flags);
        let hardened =
            self.harden((open_file, connection), Role::writer(), Access::Writing, config)?;
        // SQLite opens a file without write permission read-only, without an error.
        match hardened.inner.is_readonly("main") {
            // The journal would be missing in the first change.
            Ok(false) if !is_directory_writable(&hardened.open_file.path()) => {
                let path = hardened.open_file.path();
                return Err(OpenError::DirectoryNotWritable { path });
            }
            Ok(false) => {}
            Ok(true) => return Err(OpenError::NotWritable { path: hardened.open_file.path() }),
            Err(source) => return Err(hardened.open_file.refusal(source)),
        }
        // The first read of the content rolls back, and creates the log.
        let query = "SELECT count(*) FROM sqlite_schema";
        let outcome = hardened.inner.query_row(query, [], |_| Ok(()));
        match outcome {
            Ok(()) => Ok(hardened),
            Err(source) => Err(hardened.open_file.refusal(source)),
        }
    }

    fn harden(
        self: &Arc<Self>,
        (open_file, connection): (OpenFile, rusqlite::Result<Connection>),
        role: Role,
        access: Access,
        config: &SqliteConfig,
    ) -> Result<HardenedConnection, OpenError> {
        let harden = |connection| {
            security::harden(&connection, &role, config)?;
            Ok(connection)
        };
        match connection.and_then(harden) {
            Ok(inner) => {
                Ok(HardenedConnection { inner, role, file: Arc::clone(self), open_file, access })
            }
            Err(source) => Err(open_file.refusal(source)),
        }
    }
}

impl OwnWrite<'_> {
    /// Ends the write, whether it was committed or not.
    pub(crate) fn end(mut self) {
        *self.content = self.file.content();
    }
}

impl OpenFile {
    fn access(&self) -> io::Result<Access> {
        if !self.is_in_wal_mode()? {
            return Ok(Access::RollbackJournal);
        }
        let fingerprint = FileFingerprint::take(&self.path())?;
        Ok(if fingerprint.is_closed() { Access::Unlocked(fingerprint) } else { Access::SharedLog })
    }

    /// Bytes 18 and 19 of the header, "file format write version" and "read version", are 2 in WAL mode.
    fn is_in_wal_mode(&self) -> io::Result<bool> {
        let mut versions = [0; 2];
        match self.read_at(&mut versions, 18) {
            Ok(()) => Ok(versions.contains(&2)),
            // A database without content has no header.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn connect(&self, immutable: bool) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if immutable {
            connect_immutable(&self.path())
        } else {
            Connection::open_with_flags(self.path(), flags)
        }
    }

    fn refusal(&self, source: rusqlite::Error) -> OpenError {
        OpenError::of_sqlite(self.path(), source)
    }
}

impl HardenedConnection {
    /// The file of the connection.
    pub(crate) fn file(&self) -> &DatabaseFile {
        &self.file
    }

    /// A number that changes when another connection has written.
    pub(crate) fn data_version(&self) -> Option<i64> {
        self.inner.query_row("PRAGMA data_version", [], |row| row.get(0)).ok()
    }

    /// Whether the connection belongs to the file that is currently served.
    pub(crate) fn is_served(&self) -> bool {
        let served = match self.access {
            // Writes to a file without a name are lost.
            Access::Writing => self.file.check(),
            _ => self.file.open_file(),
        };
        served.is_ok_and(|served| served.is_same(&self.open_file))
    }

    /// Whether all reads so far, and the next one, see one state of the file and create no files. If not, the results
    /// are invalid and the connection must be replaced.
    pub(crate) fn is_current(&self) -> bool {
        match &self.access {
            // A writer may have enabled WAL mode and closed the file.
            Access::RollbackJournal => !matches!(self.open_file.is_in_wal_mode(), Ok(true)),
            Access::SharedLog | Access::Writing => true,
            Access::Unlocked(fingerprint) => fingerprint.is_current(),
        }
    }
}

/// A connection that reads the main file alone, without locks and a log.
pub(super) fn connect_immutable(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let uri = format!("file:{}?immutable=1", percent_encoded(path));
    Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
}

/// A connection to a database that no process has open in WAL mode. Its results are valid only while the fingerprint
/// matches.
pub(super) fn connect_unlocked(
    path: &Path,
) -> rusqlite::Result<Option<(Connection, FileFingerprint)>> {
    match FileFingerprint::take(path) {
        Ok(fingerprint) if fingerprint.is_closed() => {
            Ok(Some((connect_immutable(path)?, fingerprint)))
        }
        _ => Ok(None),
    }
}

fn percent_encoded(path: &Path) -> String {
    let mut encoded = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                encoded.push(char::from(*byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
