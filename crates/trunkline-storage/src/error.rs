use std::any::Any;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::ErrorCode;

use crate::reserve::heap_limit;

/// The reason why work on a store failed. `Display` is safe to send to a client; `source()` has the cause, for the log.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The queue is full, or another process holds the lock or changed the same data. Nothing was done.
    #[error("too many waiting commands; try again")]
    Busy,
    /// Other queries of the process have exhausted the heap limit of SQLite. Nothing was done.
    #[error(
        "out of memory: other queries use up the SQLite heap limit{}; try again",
        limit.map(|limit| format!(" of {limit} bytes")).unwrap_or_default()
    )]
    OutOfMemory {
        /// The limit in bytes, if it is known.
        limit: Option<u64>,
    },
    /// The deadline passed before the work started, or while it was reading. Nothing was done.
    #[error("the command timed out after {} ms", limit.as_millis())]
    Timeout {
        /// The timeout of the work.
        limit: Duration,
    },
    /// The caller cancelled the work before it started, or while it was reading. Nothing was done.
    #[error("the command was cancelled")]
    Cancelled,
    /// The work started, but its commit was not durable in time, or the connection was lost during the commit. The
    /// change may be or become durable.
    #[error("the command was not confirmed in time; check whether it was executed")]
    Unconfirmed,
    /// The store is closed.
    #[error("the server is stopping")]
    Closed,
    /// The database server cannot be reached, or stops. Nothing was done. The store logs the start and the end of an
    /// outage.
    #[error("the database server cannot be reached; try again")]
    Unreachable(#[source] Option<Cause>),
    /// The file cannot be read or written: the disk is full, read-only or fails, or the file is corrupt. Nothing was
    /// done, with the same exception as for [`Failed`](Self::Failed).
    #[error("the storage cannot be read or written: {reason}")]
    Unavailable {
        /// The reason.
        reason: String,
        /// The error of the database or of the system.
        source: Option<Cause>,
    },
    /// The database failed. Nothing was done, with one exception: if the commit failed in `fsync` and the machine then
    /// crashes, the change may reappear.
    #[error("the storage failed")]
    Failed(#[source] Cause),
    /// The work panicked. Nothing was done.
    #[error("the command panicked")]
    Panicked,
}

/// The messages of rusqlite's panics when SQLite has no memory for a value or a name. It reports all other failed
/// allocations as errors.
const OUT_OF_MEMORY: [&str; 3] = [
    "unexpected SQLITE_TEXT column type with NULL data",
    "unexpected SQLITE_BLOB column type with NULL data",
    "Null pointer from sqlite3_column_name: Out of memory?",
];

/// An error of the database.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// An error of work on a store: that of the store, or another one.
pub trait WorkError: From<StoreError> + Send + 'static {
    /// The error of the store.
    fn store_error(&self) -> Option<&StoreError>;
}

impl WorkError for StoreError {
    fn store_error(&self) -> Option<&StoreError> {
        Some(self)
    }
}

impl StoreError {
    /// Whether the error is a fault of the storage, after which the connection may be unusable.
    pub(crate) fn is_fault(&self) -> bool {
        matches!(
            self,
            Self::Failed(_)
                | Self::Unavailable { .. }
                | Self::Unreachable(_)
                | Self::OutOfMemory { .. }
                | Self::Panicked
        )
    }

    /// Whether the server cannot be reached, which is logged once for each outage, or its connection was lost during a
    /// commit, which the error of the caller contains.
    pub(crate) fn is_outage(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Unconfirmed)
    }

    /// Whether the same work may succeed soon, without a repair of the storage: the store is busy or out of memory, the
    /// work took too long, or the database server cannot be reached.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Busy | Self::OutOfMemory { .. } | Self::Timeout { .. } | Self::Unreachable(_)
        )
    }

    /// The error of work that ends its own transaction.
    pub(crate) fn ended_transaction() -> Self {
        let cause: Box<dyn Error + Send + Sync> = "the work ended its transaction".into();
        Self::Failed(cause.into())
    }

    /// The error of work that panicked with this payload.
    pub(crate) fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("(no message)");
        if OUT_OF_MEMORY.contains(&message) {
            return Self::OutOfMemory { limit: heap_limit() };
        }
        tracing::error!(message, "work on the database panicked");
        Self::Panicked
    }

    /// Whether memory ran out.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self, Self::OutOfMemory { .. })
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase,
            OutOfMemory, ReadOnly, SystemIoFailure,
        };
        let reason = match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => return Self::Busy,
            Some(OutOfMemory) => return Self::OutOfMemory { limit: heap_limit() },
            Some(DiskFull) => "the disk is full",
            Some(SystemIoFailure) => "the disk is full or failing",
            Some(ReadOnly) => "the disk or the file is read-only",
            Some(CannotOpen) => {
                "the file cannot be opened; check the permissions of the file and its directory"
            }
            Some(DatabaseCorrupt) => "the file is corrupt",
            Some(NotADatabase) => "the file is not a SQLite database, or it is encrypted",
            _ => return Self::Failed(Arc::new(error)),
        };
        Self::Unavailable { reason: reason.to_owned(), source: Some(Arc::new(error)) }
    }
}

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory or the file could not be created.
    #[error("cannot create {}", path.display())]
    Create {
        /// The directory or the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file or the database could not be opened, or its schema not be migrated.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file, or the URL of the database without the user.
        path: PathBuf,
        /// The error of the database.
        source: StoreError,
    },
    /// The file is a database of another program. It was not changed.
    #[error("{} is a database of another program: move it, or choose another data directory", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file or the database was written by a newer version. It was not changed.
    #[error(
        "{} was written by a newer version: its schema version is {found}, the newest supported one is {known}",
        path.display()
    )]
    Newer {
        /// The file, or the URL of the database without the user.
        path: PathBuf,
        /// The version of its schema.
        found: u32,
        /// The newest known version.
        known: u32,
    },
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

impl OpenError {
    /// The fault of the disk, its files or the database server, if that is the reason. It is safe to send to a client.
    #[must_use]
    pub fn disk_reason(&self) -> Option<String> {
        match self {
            Self::Open { source: source @ StoreError::Unreachable(_), .. } => {
                Some(source.to_string())
            }
            Self::Create { source, .. } => Some(source.to_string()),
            Self::Open { source: StoreError::Unavailable { reason, .. }, .. } => {
                Some(reason.clone())
            }
            _ => None,
        }
    }

    /// Whether memory ran out.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(self, Self::Open { source, .. } if source.is_of_memory())
    }
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Open { source, .. } => source,
            error => match error.disk_reason() {
                Some(reason) => Self::Unavailable { reason, source: Some(Arc::new(error)) },
                None => Self::Failed(Arc::new(error)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use super::StoreError;

    #[track_caller]
    fn check(payload: impl Any + Send, is_of_memory: bool) {
        let error = StoreError::of_panic(&payload);
        assert_eq!(error.is_of_memory(), is_of_memory, "{error:?}");
        assert!(error.is_fault(), "the connection is replaced");
    }

    #[test]
    fn panics_of_rusqlite_without_memory_differ_from_others() {
        check("unexpected SQLITE_TEXT column type with NULL data", true);
        check("Null pointer from sqlite3_column_name: Out of memory?", true);
        check("index out of bounds", false);
        check(String::from("index out of bounds"), false);
        check(7, false);
    }
}
