//! What can go wrong, and what a client may be told of it.

mod details;
mod sqlite;

use std::path::PathBuf;
use std::time::Duration;

pub use details::{Details, ErrorClass};

/// Why a call gave no result.
///
/// `Display` is safe to send to a client: it names what the client sent, and never a file path or a
/// stored value. Causes that may hold more are in `source()`, for the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No table or view has this name.
    #[error("there is no table named {table:?}{}", details::suggest(.candidates))]
    UnknownTable {
        /// The name as the caller wrote it.
        table: String,
        /// Existing names that look like it, nearest first; at most three.
        candidates: Vec<String>,
    },
    /// The table has no column of this name.
    #[error("table {table:?} has no column named {column:?}{}", details::suggest(.candidates))]
    UnknownColumn {
        /// The table that was asked.
        table: String,
        /// The column as the caller wrote it.
        column: String,
        /// Existing columns that look like it, nearest first; at most three.
        candidates: Vec<String>,
    },
    /// An argument has a value that the operation cannot take.
    #[error("argument {argument:?}: {reason}")]
    BadArgument {
        /// The argument's name.
        argument: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A filter's condition cannot be read.
    #[error("filter on column {column:?}: {reason}")]
    BadFilter {
        /// The column that the filter is on.
        column: String,
        /// What is wrong with the condition.
        reason: String,
    },
    /// The cursor was not issued by this server, or belongs to another request.
    #[error("the cursor cannot be used: {reason}")]
    BadCursor {
        /// Which of the two.
        reason: &'static str,
    },
    /// The parameters do not fit those of the statement.
    #[error("query parameters: {reason}")]
    BadParams {
        /// The parameter, and what is wrong with it.
        reason: String,
    },
    /// The SQL text is empty, or only comments and semicolons.
    #[error("the SQL text holds no statement")]
    NoStatement,
    /// Something that is not blank or comment follows the first statement.
    #[error("only one statement a call is allowed, and text follows the first one")]
    MultipleStatements,
    /// The SQL text holds a NUL character.
    #[error("the SQL text holds a NUL character at byte {offset}")]
    NulInSql {
        /// Byte offset of the first NUL.
        offset: usize,
    },
    /// SQLite cannot compile the SQL text, or a function in it refused its arguments.
    #[error("SQL error: {message}")]
    Sql {
        /// SQLite's message.
        message: String,
        /// Byte offset of the offending token in the SQL text, where SQLite knows it.
        offset: Option<usize>,
    },
    /// The statement is well-formed, and something that this server does not let callers do.
    #[error("the statement is not allowed: {reason}")]
    Forbidden {
        /// What is not allowed.
        reason: String,
    },
    /// The statement, a value in it, or the first row of its result is larger than a limit of the
    /// server.
    #[error("the query is over a limit: {message}")]
    OverLimit {
        /// Which limit.
        message: String,
    },
    /// The query needs more memory than SQLite is given ([`Settings::heap_limit`](crate::Settings)).
    #[error("the query needs more memory than this server gives to queries")]
    OutOfMemory,
    /// The deadline came before the result.
    #[error("the query did not finish within {} ms", .limit.as_millis())]
    Timeout {
        /// The time that the call was given.
        limit: Duration,
    },
    /// The caller cancelled.
    #[error("the query was cancelled")]
    Cancelled,
    /// All readers are taken and the queue is full, or none came free in time. Worth a retry.
    #[error("all database readers are busy; try again later")]
    Busy,
    /// Another process holds a lock on the database. Worth a retry.
    #[error("the database is locked by another process; try again later")]
    Locked,
    /// Another process kept changing the file while it was read. Worth a retry.
    #[error("the database kept changing while it was read; try again later")]
    Changing,
    /// The database could be opened once, and now cannot.
    #[error("the database cannot be opened")]
    Unavailable(#[source] OpenError),
    /// SQLite could not read the database.
    #[error("the database cannot be read")]
    Failure(#[source] rusqlite::Error),
    /// The reader stopped without an answer. This is a defect of this crate.
    #[error("the database reader stopped without an answer")]
    ReaderLost,
}

/// Why a database file cannot be served. For the operator: it names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no such file.
    #[error("there is no database file {}", .path.display())]
    Missing {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The path names a directory, a socket, or another thing that is not a file.
    #[error("{} is not a regular file", .path.display())]
    NotAFile {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The file's content is not a SQLite database.
    #[error("{} is not a SQLite database", .path.display())]
    NotADatabase {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// A crashed writer left a journal that only a writer can roll back.
    #[error("{} holds an unfinished transaction; open it once for writing", .path.display())]
    NeedsRecovery {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The operating system refused the file.
    #[error("cannot read {}", .path.display())]
    Io {
        /// The path that was asked for.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// SQLite refused the file or a setting.
    #[error("cannot open {}", .path.display())]
    Sqlite {
        /// The path that was asked for.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The operating system gave no thread for a reader.
    #[error("cannot start a reader thread")]
    Thread(#[source] std::io::Error),
    /// The settings cannot be served.
    #[error("setting {setting:?} must be at least 1")]
    Setting {
        /// The field of [`Settings`](crate::Settings).
        setting: &'static str,
    },
}
