//! Errors of commands and of opening the database.

use std::path::PathBuf;
use std::time::Duration;

use crate::excerpt::excerpt;

/// The reason why a command had no effect. `Display` is safe to send to a client; causes are in `source()`, for
/// the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such command, or no such resource.
    #[error("there is no command {}.{}", excerpt(resource), excerpt(command))]
    UnknownCommand {
        /// The name of the resource.
        resource: String,
        /// The command.
        command: String,
    },
    /// What was sent does not fit the resource, or the command.
    #[error("{reason}")]
    Invalid {
        /// Where, as a JSON Pointer (RFC 6901) into the command's params: `/title`.
        pointer: String,
        /// The problem and its remedy.
        reason: String,
    },
    /// There is no such record.
    #[error("there is no {resource} with the id {id:?}")]
    NotFound {
        /// The name of the resource.
        resource: String,
        /// The id as it was asked for.
        id: String,
    },
    /// There is a record of this id already.
    #[error("there is a {resource} with the id {id:?} already")]
    Exists {
        /// The name of the resource.
        resource: String,
        /// The id as it was given.
        id: String,
    },
    /// `metadata.ifVersion` names another version than the record has.
    #[error("the {resource} {id:?} has version {found}, not {expected}: read it again")]
    VersionMismatch {
        /// The name of the resource.
        resource: String,
        /// The record's id.
        id: String,
        /// The version that was asked for.
        expected: u64,
        /// The version that the record has.
        found: u64,
    },
    /// The `metadata.requestId` was that of another request.
    #[error("the requestId {request_id:?} was another request's: give each request its own")]
    RequestReused {
        /// The id of both requests.
        request_id: String,
    },
    /// The request was done and then reverted.
    #[error("the request {request_id:?} was reverted: give it another requestId to do it again")]
    RequestReverted {
        /// The request's id.
        request_id: String,
    },
    /// What a request did cannot be undone without undoing what was done after it.
    #[error(
        "the {resource} {id:?} was changed after the request {request_id:?}: revert that first"
    )]
    ChangedSince {
        /// The name of the resource.
        resource: String,
        /// The record's id.
        id: String,
        /// The request that was to be reverted.
        request_id: String,
    },
    /// Too many commands wait already, or another process holds the lock. Nothing was done.
    #[error("too many commands wait; try again")]
    Busy,
    /// Queries of others use up SQLite's heap limit. Nothing was done.
    #[error("out of memory: other queries use up the SQLite heap limit{}; try again", of_bytes(*limit))]
    OutOfMemory {
        /// The limit in bytes, if it is known.
        limit: Option<u64>,
    },
    /// The command's time was up before it was begun, or it only read. Nothing was done.
    #[error("the command did not end within {} ms", limit.as_millis())]
    Timeout {
        /// How long it might take.
        limit: Duration,
    },
    /// The caller went before the command was begun. Nothing was done.
    #[error("the command was cancelled")]
    Cancelled,
    /// The command was begun, and was not made to last in time: it may still be. Or the disk failed while it
    /// was made to last: it has no effect now, and may have one after a crash.
    #[error("the command was not confirmed in time: look whether it was done")]
    Unconfirmed,
    /// The resources are closed.
    #[error("the server is stopping")]
    Closed,
    /// The file of the records cannot be read or written: the disk is full, read-only or fails, or the file is
    /// corrupt. As for [`Storage`](Self::Storage), nothing was done, but for the same case.
    #[error("the records cannot be read or changed: {reason}")]
    Unavailable {
        /// The reason.
        reason: String,
        /// SQLite's error, if it was not found at the start.
        source: Option<rusqlite::Error>,
    },
    /// The storage failed. Nothing was done, but for one case: where the commit failed as it was being made
    /// durable (`fsync`) and the machine then crashes, SQLite may find the change in its log.
    #[error("the storage failed")]
    Storage(#[source] StorageError),
}

/// What is wrong with the storage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// An error of SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// Stored data is corrupt.
    #[error("the stored {what} of {resource} {id:?} cannot be read")]
    Corrupt {
        /// The kind of data that cannot be read.
        what: &'static str,
        /// The name of the resource.
        resource: String,
        /// The record's id.
        id: String,
    },
    /// The command panicked.
    #[error("the command panicked")]
    Panicked,
    /// A worker has ended before it answered.
    #[error("the thread that did the work has ended")]
    WorkerLost,
}

/// Why resources could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The data directory could not be made.
    #[error("cannot make the data directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The database in the data directory could not be made.
    #[error("cannot make {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is another program's database. It was not changed.
    #[error("{} is not a database of trunkline's: move it, or choose another data directory", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// The database in the data directory could not be opened.
    #[error("cannot open {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// The database was written by a newer version.
    #[error(
        "{} was written by a newer version: its schema is {found}, and {known} is the newest known here",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its schema.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}

impl Error {
    /// Whether it may have spoiled the connection that it happened on.
    pub(crate) fn is_of_storage(&self) -> bool {
        matches!(self, Self::Storage(_) | Self::OutOfMemory { .. } | Self::Unavailable { .. })
    }

    /// Whether memory may have run out. The wrapper of SQLite panics in a few places then.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self, Self::OutOfMemory { .. } | Self::Storage(StorageError::Panicked))
    }

    /// An invalid value at the end of a path of member names, which may be any text.
    pub(crate) fn invalid(path: &[&str], reason: impl Into<String>) -> Self {
        let escaped = path.iter().map(|name| excerpt(name).replace('~', "~0").replace('/', "~1"));
        let pointer = escaped.map(|name| format!("/{name}")).collect();
        Self::Invalid { pointer, reason: reason.into() }
    }
}

impl OpenError {
    /// The fault of the disk or of the files on it, if that is the reason. It is safe to send to a client. Records
    /// can then be served as [unavailable](crate::Resources::unavailable).
    pub fn disk_reason(&self) -> Option<String> {
        match self {
            Self::Directory { source, .. } | Self::File { source, .. } => Some(source.to_string()),
            Self::Sqlite { source, .. } => disk_reason(source).map(str::to_owned),
            _ => None,
        }
    }
}

/// The fault of the disk or the file that an error of SQLite is about.
pub(crate) fn disk_reason(error: &rusqlite::Error) -> Option<&'static str> {
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
