//! The database file: how it is opened so that serving it leaves no trace but what callers write.

mod served;
mod stamp;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::OpenError;
use crate::security::{self, Role};
use crate::settings::Settings;
use served::{Opened, Served};
use stamp::Stamp;

/// Creates an empty database at `path`: a file of no bytes, which SQLite reads as a database without
/// tables.
///
/// # Errors
///
/// `AlreadyExists` if there is a file, which is left as it is, and what the operating system says else.
pub fn create_empty(path: impl AsRef<Path>) -> io::Result<()> {
    File::create_new(path).map(drop)
}

/// The database file that is served, which another one may replace.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    served: Mutex<Served>,
}

/// A hardened connection.
pub(crate) struct Link {
    pub(crate) connection: Connection,
    pub(crate) role: Role,
    file: Arc<DatabaseFile>,
    opened: Opened,
    access: Access,
}

/// How a connection learns of other processes' writes.
enum Access {
    /// By SQLite's locks on the file.
    RollbackJournal,
    /// By the log and its index, which exist.
    SharedLog,
    /// By SQLite's locks, or the log, which it makes if it needs one: it writes.
    Writing,
    /// Not at all; its results hold only as long as the stamp does.
    Unlocked(Stamp),
}

impl DatabaseFile {
    pub(crate) fn find(path: &Path) -> Result<Self, OpenError> {
        Ok(Self { served: Mutex::new(Served::find(path)?) })
    }

    /// The file of this name. It is looked for at most once a second.
    ///
    /// # Errors
    /// [`OpenError::Missing`] and [`OpenError::Replaced`].
    pub(crate) fn opened(&self) -> Result<Opened, OpenError> {
        self.served().opened()
    }

    fn look(&self) -> Result<Opened, OpenError> {
        let mut served = self.served();
        served.look();
        served.opened()
    }

    fn served(&self) -> MutexGuard<'_, Served> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection that changes no byte of the file and creates none beside it.
    ///
    /// A database in WAL mode is the hard case. SQLite reads it through a `-wal` and a `-shm` file, and
    /// creates both if they are missing, even for a read-only connection, which cannot remove them
    /// afterwards. They are missing exactly when no process has the database open, and then the main file
    /// holds everything: so it is opened as `immutable`, which reads the main file alone, without locks.
    /// That alone would be unsafe, since a writer may come at any time. Therefore the file's [`Stamp`] is
    /// compared before and after each call ([`Link::is_current`]): a result that a writer may have torn
    /// is thrown away and read again. If `-wal` and `-shm` exist, the connection shares them in the
    /// ordinary way, as the processes do that made them.
    pub(crate) fn connect(self: &Arc<Self>, settings: &Settings) -> Result<Link, OpenError> {
        let opened = self.look()?;
        let access =
            opened.access().map_err(|source| OpenError::Io { path: opened.path(), source })?;
        let connection = opened.connect(matches!(access, Access::Unlocked(_)));
        self.link((opened, connection), Role::Reader, access, settings)
    }

    /// Opens a connection that may change the file, and rolls back what a crashed writer left. In WAL mode
    /// it makes the log and its index, and takes them away when it is closed as the last one of all
    /// processes: so it has to be opened before the readers, which then share them, and closed after them.
    pub(crate) fn connect_for_writing(
        self: &Arc<Self>,
        settings: &Settings,
    ) -> Result<Link, OpenError> {
        let opened = self.look()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(opened.path(), flags);
        let link = self.link((opened, connection), Role::writer(), Access::Writing, settings)?;
        // SQLite opens a file that it may not write for reading, and says nothing.
        match link.connection.is_readonly("main") {
            Ok(false) => {}
            Ok(true) => return Err(OpenError::NotWritable { path: link.opened.path() }),
            Err(source) => return Err(link.opened.refusal(source)),
        }
        // The first look at the content is what rolls back, and what makes the log.
        let look = "SELECT count(*) FROM sqlite_schema";
        let looked = link.connection.query_row(look, [], |_| Ok(()));
        match looked {
            Ok(()) => Ok(link),
            Err(source) => Err(link.opened.refusal(source)),
        }
    }

    fn link(
        self: &Arc<Self>,
        (opened, connection): (Opened, rusqlite::Result<Connection>),
        role: Role,
        access: Access,
        settings: &Settings,
    ) -> Result<Link, OpenError> {
        let harden = |connection| {
            security::harden(&connection, &role, settings)?;
            Ok(connection)
        };
        match connection.and_then(harden) {
            Ok(connection) => Ok(Link { connection, role, file: Arc::clone(self), opened, access }),
            Err(source) => Err(opened.refusal(source)),
        }
    }
}

impl Opened {
    fn access(&self) -> io::Result<Access> {
        if !self.is_in_wal_mode()? {
            return Ok(Access::RollbackJournal);
        }
        let stamp = Stamp::settled(&self.path())?;
        Ok(if stamp.is_closed() { Access::Unlocked(stamp) } else { Access::SharedLog })
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
            let uri = format!("file:{}?immutable=1", percent_encoded(&self.path()));
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
        } else {
            Connection::open_with_flags(self.path(), flags)
        }
    }

    fn refusal(&self, source: rusqlite::Error) -> OpenError {
        let path = self.path();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => OpenError::NotADatabase { path },
            Some(ErrorCode::ReadOnly) => OpenError::NeedsRecovery { path },
            _ => OpenError::Sqlite { path, source },
        }
    }
}

impl Link {
    /// Whether the connection is one to the file that is served now.
    pub(crate) fn is_served(&self) -> bool {
        let served = match self.access {
            // What is written to a file that has no name any more is lost.
            Access::Writing => self.file.look(),
            _ => self.file.opened(),
        };
        served.is_ok_and(|served| served.is_same(&self.opened))
    }

    /// Whether all that was read so far, and what will be read now, comes from one state of the file, and
    /// reading creates no file. If not, the results are void and the connection has to be replaced.
    pub(crate) fn is_current(&self) -> bool {
        match &self.access {
            // A writer may have turned WAL mode on and gone again.
            Access::RollbackJournal => !matches!(self.opened.is_in_wal_mode(), Ok(true)),
            Access::SharedLog | Access::Writing => true,
            Access::Unlocked(stamp) => stamp.is_current(),
        }
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
