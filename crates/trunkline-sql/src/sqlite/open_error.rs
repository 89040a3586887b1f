use std::path::PathBuf;

/// The reason why a database file cannot be served. For the operator: it names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file does not exist.
    #[error("database file {} does not exist", .path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The path is that of a directory, a socket or another special file.
    #[error("{} is not a regular file", .path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The served file was replaced, and a log next to it may be that of the old file.
    #[error("{} was replaced while it had a log", .path.display())]
    Replaced {
        /// The path.
        path: PathBuf,
    },
    /// The file's content is not a SQLite database.
    #[error("{} is not a SQLite database", .path.display())]
    NotADatabase {
        /// The path.
        path: PathBuf,
    },
    /// A crashed writer left a journal, which only a writer can roll back.
    #[error("{} holds an unfinished transaction; open it once for writing", .path.display())]
    NeedsRecovery {
        /// The path.
        path: PathBuf,
    },
    /// The file is to be served writable, but its permissions do not allow writing.
    #[error("{} cannot be written; change its permissions, or serve it read-only", .path.display())]
    NotWritable {
        /// The path.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("cannot read {}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// SQLite refused the file or a setting.
    #[error("cannot open {}", .path.display())]
    Sqlite {
        /// The path.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// A reader thread cannot be started.
    #[error("cannot start a reader thread")]
    Thread(#[source] std::io::Error),
    /// A setting is invalid.
    #[error("setting `{setting}` must be at least 1")]
    Setting {
        /// The field of [`SqliteConfig`](super::SqliteConfig).
        setting: &'static str,
    },
}

impl OpenError {
    /// Whether another process locks the database.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        let Self::Sqlite { source, .. } = self else { return false };
        matches!(source.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
    }
}
