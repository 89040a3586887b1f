//! Errors of calls and of opening a database.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

/// The reason why a call failed.
///
/// `Display` is safe to send to a client: it names what the client sent, and never a file path or a
/// stored value. Causes that may hold more are in `source()`, for the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No table or view has this name.
    #[error("there is no table named {table:?}{}", suggest(.candidates))]
    UnknownTable {
        /// The name as the caller wrote it.
        table: String,
        /// Existing names that look like it, nearest first; at most three.
        candidates: Vec<String>,
    },
    /// The table has no column of this name.
    #[error("table {table:?} has no column named {column:?}{}", suggest(.candidates))]
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
        /// The problem.
        reason: String,
    },
    /// An argument has an invalid value for one column: a value that is not a scalar, an unknown type.
    #[error("argument {argument:?}, column {column:?}: {reason}")]
    BadColumn {
        /// The argument's name.
        argument: &'static str,
        /// The column that it concerns.
        column: String,
        /// The problem.
        reason: String,
    },
    /// There is a table or view of this name already.
    #[error("there is a table or view named {table:?} already")]
    TableExists {
        /// As the schema spells it.
        table: String,
    },
    /// A change was asked of a database that is served read-only.
    #[error("the database is served read-only; start the server with --writable to allow changes")]
    ReadOnly,
    /// A change would have affected more rows than it may. Nothing was changed.
    #[error(
        "more than {max} rows would be changed, counting those that `replace`, foreign keys and triggers change; \
         nothing was changed; narrow the change, or raise `max_affected` (server default: `--max-affected`)"
    )]
    TooManyRows {
        /// The limit.
        max: u64,
        /// The table of the call, if it names one.
        table: Option<String>,
    },
    /// A change would break a constraint of the schema. Nothing was changed.
    #[error("constraint failed: {message}")]
    Constraint {
        /// SQLite's message.
        message: String,
        /// The table, if SQLite names one.
        table: Option<String>,
        /// The column, if SQLite names exactly one.
        column: Option<String>,
    },
    /// A filter's condition cannot be read.
    #[error("filter on column {column:?}: {reason}")]
    BadFilter {
        /// The column that the filter is on.
        column: String,
        /// The problem of the condition.
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
        /// The parameter and its problem.
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
        /// The table at fault, if it is known.
        table: Option<String>,
        /// The column at fault, if SQLite names one.
        column: Option<String>,
    },
    /// The statement is well-formed, and something that this server does not let callers do.
    #[error("the statement is not allowed: {reason}")]
    Forbidden {
        /// The action that is not allowed.
        reason: String,
    },
    /// The statement, a value in it, or the first row of its result is larger than a limit of the
    /// server.
    #[error("the query is over a limit: {message}")]
    OverLimit {
        /// Which limit.
        message: String,
    },
    /// The queries that run need more memory than SQLite has ([`SqliteConfig::heap_limit`](crate::SqliteConfig)).
    #[error(
        "out of memory: this query and those that run now use up the SQLite heap limit; ask for less, or try \
         again later"
    )]
    OutOfMemory,
    /// The deadline came before the result.
    #[error("the query did not finish within {} ms", .limit.as_millis())]
    Timeout {
        /// The time that the call was given.
        limit: Duration,
    },
    /// SQLite was interrupted. No caller gets this error: a query is interrupted when its future is dropped.
    #[error("the query was cancelled")]
    Cancelled,
    /// All readers are taken (or the writer is) and the queue is full, or none came free in time. Worth a
    /// retry.
    #[error("the database is busy with other calls; try again later")]
    Busy,
    /// Another connection or process holds a lock on the database for too long. Nothing was changed.
    /// Worth a retry.
    #[error("the database is locked by another reader or writer; try again later")]
    Locked,
    /// Another process kept changing the file while it was read. Worth a retry.
    #[error("the database kept changing while it was read; try again later")]
    Changing,
    /// The database could be opened once, and now cannot.
    #[error("the database cannot be opened")]
    Unavailable(#[source] OpenError),
    /// The database file was removed or renamed while it was served.
    #[error("the database file was removed or renamed; calls fail until it is back")]
    Missing,
    /// The database file was replaced while it had a log, which may be that of the old file.
    #[error(
        "the database file was replaced while it had a log, which may be that of the old file; calls \
         fail until the log is removed"
    )]
    Replaced,
    /// A writer that has ended left a transaction unfinished, and a reader cannot roll it back.
    #[error(
        "the database cannot be read now: an unfinished transaction of another process has to be rolled \
         back: open it once for writing"
    )]
    NeedsRecovery,
    /// The change does not fit on the disk. Nothing was changed.
    #[error("the disk is full, or the database may not grow further; nothing was changed")]
    DiskFull,
    /// SQLite could not read or write the database.
    #[error("the database cannot be read or written")]
    Failure(#[source] rusqlite::Error),
    /// The thread of the call stopped without an answer. This is a defect of this crate.
    #[error("the database thread stopped without an answer")]
    ReaderLost,
    /// The commit had begun when the call's time was over, and did not end within 5 seconds more.
    #[error("the database has not confirmed the change in time; look whether it was made")]
    Unconfirmed,
    /// The database is being closed.
    #[error("the database is being closed")]
    Closed,
}

/// The class of an [`Error`], by what a client can do about it. Exhaustive: a protocol maps each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request is at fault; sent again unchanged, it fails again.
    Request,
    /// The request is well-formed and not permitted.
    Forbidden,
    /// The request is well-formed and over a limit: size, memory or time.
    Limit,
    /// The caller gave up.
    Cancelled,
    /// The server or the file is taken; the same request may work later.
    Retry,
    /// The database or this crate failed.
    Database,
}

/// The facts of an [`Error`] as data, for a client's program. Absent facts are not serialised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Details {
    /// The error's variant in snake case: `unknown_table`.
    pub kind: &'static str,
    /// The table at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The column at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The argument at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<&'static str>,
    /// Byte offset in the SQL text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
    /// Names that exist and look like the one that was sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// The most rows that the change may affect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_affected: Option<u64>,
    /// The time limit that was met, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl Error {
    /// [`BadArgument`](Self::BadArgument).
    pub(crate) fn argument(argument: &'static str, reason: impl Into<String>) -> Self {
        Self::BadArgument { argument, reason: reason.into() }
    }

    /// The class of the error.
    pub fn class(&self) -> ErrorClass {
        self.class_and_kind().0
    }

    /// The facts of its message as data.
    pub fn details(&self) -> Details {
        let mut details = Details { kind: self.class_and_kind().1, ..Details::default() };
        match self {
            Self::UnknownTable { table, candidates } => {
                details.table = Some(table.clone());
                details.candidates.clone_from(candidates);
            }
            Self::UnknownColumn { table, column, candidates } => {
                details.table = Some(table.clone());
                details.column = Some(column.clone());
                details.candidates.clone_from(candidates);
            }
            Self::BadColumn { argument, column, .. } => {
                details.argument = Some(argument);
                details.column = Some(column.clone());
            }
            Self::TableExists { table } => details.table = Some(table.clone()),
            Self::Constraint { table, column, .. } => {
                details.table.clone_from(table);
                details.column.clone_from(column);
            }
            Self::TooManyRows { max, table } => {
                details.table.clone_from(table);
                details.argument = Some("max_affected");
                details.max_affected = Some(*max);
            }
            Self::BadArgument { argument, .. } => details.argument = Some(argument),
            Self::BadFilter { column, .. } => {
                details.argument = Some("filters");
                details.column = Some(column.clone());
            }
            Self::BadCursor { .. } => details.argument = Some("cursor"),
            Self::BadParams { .. } => details.argument = Some("params"),
            Self::NulInSql { offset } => details.offset = Some(*offset),
            Self::Sql { offset, table, column, .. } => {
                details.offset = *offset;
                details.table.clone_from(table);
                details.column.clone_from(column);
            }
            Self::Timeout { limit } => details.timeout_ms = u64::try_from(limit.as_millis()).ok(),
            _ => {}
        }
        details
    }

    /// The error of a statement of ours on a table: without what only concerns SQL that the caller has not
    /// seen, and with the table, unless SQLite names another one.
    pub(crate) fn on_table(mut self, name: &str) -> Self {
        match &mut self {
            Self::Sql { table, offset, .. } => {
                *offset = None;
                table.get_or_insert_with(|| name.to_owned());
            }
            Self::Constraint { table, .. } | Self::TooManyRows { table, .. } => {
                table.get_or_insert_with(|| name.to_owned());
            }
            _ => {}
        }
        self
    }

    fn class_and_kind(&self) -> (ErrorClass, &'static str) {
        use ErrorClass::{Cancelled, Database, Forbidden, Limit, Request, Retry};
        match self {
            Self::UnknownTable { .. } => (Request, "unknown_table"),
            Self::UnknownColumn { .. } => (Request, "unknown_column"),
            Self::BadArgument { .. } => (Request, "bad_argument"),
            Self::BadColumn { .. } => (Request, "bad_column"),
            Self::TableExists { .. } => (Request, "table_exists"),
            Self::Constraint { .. } => (Request, "constraint"),
            Self::BadFilter { .. } => (Request, "bad_filter"),
            Self::BadCursor { .. } => (Request, "bad_cursor"),
            Self::BadParams { .. } => (Request, "bad_params"),
            Self::NoStatement => (Request, "no_statement"),
            Self::MultipleStatements => (Request, "multiple_statements"),
            Self::NulInSql { .. } => (Request, "nul_in_sql"),
            Self::Sql { .. } => (Request, "sql"),
            Self::Forbidden { .. } => (Forbidden, "forbidden"),
            Self::ReadOnly => (Forbidden, "read_only"),
            Self::OverLimit { .. } => (Limit, "over_limit"),
            Self::TooManyRows { .. } => (Limit, "too_many_rows"),
            Self::OutOfMemory => (Limit, "out_of_memory"),
            Self::Timeout { .. } => (Limit, "timeout"),
            Self::Cancelled => (Cancelled, "cancelled"),
            Self::Busy => (Retry, "busy"),
            Self::Locked => (Retry, "locked"),
            Self::Changing => (Retry, "changing"),
            Self::Closed => (Retry, "closed"),
            Self::Unavailable(_) | Self::Missing | Self::Replaced | Self::NeedsRecovery => {
                (Database, "unavailable")
            }
            Self::DiskFull => (Database, "disk_full"),
            Self::Failure(_) => (Database, "failure"),
            Self::ReaderLost => (Database, "reader_lost"),
            Self::Unconfirmed => (Database, "unconfirmed"),
        }
    }
}

/// The reason why a database file cannot be served. For the operator: it names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file does not exist.
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
    /// The file has replaced the one that was served, and there is a log next to it, which may be that of the old
    /// file.
    #[error("{} was replaced while it had a log", .path.display())]
    Replaced {
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
    /// The file's permissions allow no writing, and it should be served writable.
    #[error("{} cannot be written; change its permissions, or serve it read-only", .path.display())]
    NotWritable {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The operating system refused the file.
    #[error("cannot read {}", .path.display())]
    Io {
        /// The path that was asked for.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// SQLite refused the file or a setting.
    #[error("cannot open {}", .path.display())]
    Sqlite {
        /// The path that was asked for.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// The operating system gave no thread for a reader.
    #[error("cannot start a reader thread")]
    Thread(#[source] std::io::Error),
    /// The config cannot be served.
    #[error("setting {setting:?} must be at least 1")]
    Setting {
        /// The field of [`SqliteConfig`](crate::SqliteConfig).
        setting: &'static str,
    },
}

/// The end of a message about an unknown name.
fn suggest(candidates: &[String]) -> String {
    let quoted: Vec<String> = candidates.iter().map(|name| format!("{name:?}")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [many @ .., last] => format!("; did you mean {} or {last}?", many.join(", ")),
    }
}
