//! The database file: how it is opened so that serving it leaves no trace.

mod stamp;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::OpenError;
use crate::security;
use crate::settings::Settings;
use stamp::Stamp;

/// Creates an empty database at `path`: a file of no bytes, which SQLite reads as a database without
/// tables.
///
/// # Errors
///
/// `AlreadyExists` if there is a file, which is left as it is, and what the operating system says else.
pub fn create_empty(path: impl AsRef<Path>) -> io::Result<()> {
    fs::File::create_new(path).map(drop)
}

/// A database file that exists, under its absolute name.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
}

/// A hardened read-only connection.
pub(crate) struct Link {
    pub(crate) connection: Connection,
    /// Set if the connection does not watch the file itself.
    unlocked: Option<Stamp>,
}

impl DatabaseFile {
    pub(crate) fn find(path: &Path) -> Result<Self, OpenError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => OpenError::Missing { path: path.to_owned() },
            _ => OpenError::Io { path: path.to_owned(), source },
        };
        let metadata = fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(OpenError::NotAFile { path: path.to_owned() });
        }
        // An absolute name cannot begin with `file:`, which SQLite would read as an URI with options.
        let path = fs::canonicalize(path).map_err(failed)?;
        Ok(Self { path })
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
    pub(crate) fn connect(&self, settings: &Settings) -> Result<Link, OpenError> {
        let unlocked = self
            .unlocked_stamp()
            .map_err(|source| OpenError::Io { path: self.path.clone(), source })?;
        self.open(unlocked.is_some())
            .and_then(|connection| {
                security::harden(&connection, settings)?;
                Ok(connection)
            })
            .map(|connection| Link { connection, unlocked })
            .map_err(|source| self.refusal(source))
    }

    /// The stamp under which the file may be read without locks, or none if it must be shared.
    fn unlocked_stamp(&self) -> io::Result<Option<Stamp>> {
        if !self.is_in_wal_mode()? {
            return Ok(None);
        }
        let stamp = Stamp::settled(&self.path)?;
        Ok(stamp.is_closed().then_some(stamp))
    }

    /// Bytes 18 and 19 of the header, "file format write version" and "read version", are 2 in WAL mode.
    fn is_in_wal_mode(&self) -> io::Result<bool> {
        let mut header = Vec::with_capacity(20);
        fs::File::open(&self.path)?.take(20).read_to_end(&mut header)?;
        Ok(header.get(18..20).is_some_and(|versions| versions.contains(&2)))
    }

    fn open(&self, immutable: bool) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if immutable {
            let uri = format!("file:{}?immutable=1", percent_encoded(&self.path));
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
        } else {
            Connection::open_with_flags(&self.path, flags)
        }
    }

    fn refusal(&self, source: rusqlite::Error) -> OpenError {
        let path = self.path.clone();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => OpenError::NotADatabase { path },
            Some(ErrorCode::ReadOnly) => OpenError::NeedsRecovery { path },
            _ => OpenError::Sqlite { path, source },
        }
    }
}

impl Link {
    /// Whether all that was read so far, and what will be read now, comes from one state of the file. For
    /// a connection that takes SQLite's locks this is SQLite's work, and always so.
    pub(crate) fn is_current(&self) -> bool {
        self.unlocked.as_ref().is_none_or(Stamp::is_current)
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
