use std::path::PathBuf;
use std::time::Duration;

/// Why conversations could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory or the file could not be made.
    #[error("cannot make {}", path.display())]
    Make {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file could not be opened.
    #[error("cannot open {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The file is another program's database. It was left as it is.
    #[error("{} holds no conversations: move it, or choose another data directory", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error("{} was written by a newer version (schema {found})", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its schema.
        found: u32,
    },
    /// The thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}

/// Why conversations could not be read or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConversationError {
    /// Too much waits already. Nothing was done.
    #[error("too much waits to be kept; try again")]
    Busy,
    /// Queries of others use up SQLite's heap limit. Nothing was done.
    #[error("out of memory: other queries use up the SQLite heap limit{}; try again", of_bytes(*limit))]
    OutOfMemory {
        /// The limit in bytes, if it is known.
        limit: Option<u64>,
    },
    /// It took too long. It may still be done.
    #[error("the conversation was not kept or read within {} ms", after.as_millis())]
    Timeout {
        /// How long it might take.
        after: Duration,
    },
    /// The conversation was deleted while its turn ran, or had to give way to newer ones. It stays deleted.
    #[error("the conversation was deleted meanwhile")]
    Deleted,
    /// The file cannot be read or written: the disk is full, read-only or fails, or the file is corrupt.
    #[error("conversations cannot be read or kept: {reason}")]
    Unavailable {
        /// The reason.
        reason: String,
        /// SQLite's error, if it was not found at the start.
        source: Option<Box<rusqlite::Error>>,
    },
    /// SQLite says.
    #[error("the storage of conversations failed")]
    Sqlite(#[source] rusqlite::Error),
    /// The thread has ended.
    #[error("the storage of conversations is closed")]
    Closed,
}

impl OpenError {
    /// The fault of the disk or of the files on it, if that is the reason. It is safe to send to a client.
    /// Conversations can then be served as [unavailable](super::Conversations::unavailable).
    pub fn disk_reason(&self) -> Option<String> {
        match self {
            Self::Make { source, .. } => Some(source.to_string()),
            Self::Sqlite { source, .. } => disk_reason(source).map(str::to_owned),
            _ => None,
        }
    }
}

/// The fault of the disk or the file that an error of SQLite is about.
pub(super) fn disk_reason(error: &rusqlite::Error) -> Option<&'static str> {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseCorrupt, DiskFull, NotADatabase, ReadOnly, SystemIoFailure,
    };
    match error.sqlite_error_code()? {
        DiskFull => Some("the disk is full"),
        SystemIoFailure => Some("the disk is full or fails"),
        ReadOnly => Some("the disk or the file is read-only"),
        CannotOpen => Some("the file cannot be opened"),
        DatabaseCorrupt | NotADatabase => Some("the file is corrupt"),
        _ => None,
    }
}

fn of_bytes(limit: Option<u64>) -> String {
    limit.map(|limit| format!(" of {limit} bytes")).unwrap_or_default()
}
