//! Errors of calls.

use std::time::Duration;

use serde::Serialize;

/// An error of an engine, for the log.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a call failed.
///
/// `Display` is safe to send to a client: it contains neither file paths nor stored values. `source()` may contain
/// them and is for the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No table or view has this name.
    #[error("unknown table {}{}", quoted(.table), suggestion(.candidates))]
    UnknownTable {
        /// The name as the caller wrote it.
        table: String,
        /// Similar existing names, nearest first; at most three.
        candidates: Vec<String>,
    },
    /// The table has no column of this name.
    #[error("unknown column {} in table {}{}", quoted(.column), quoted(.table), suggestion(.candidates))]
    UnknownColumn {
        /// The table.
        table: String,
        /// The column as the caller wrote it.
        column: String,
        /// Similar existing columns, nearest first; at most three.
        candidates: Vec<String>,
    },
    /// An argument has an invalid value.
    #[error("argument `{argument}`: {reason}")]
    BadArgument {
        /// The argument's name.
        argument: &'static str,
        /// The problem.
        reason: String,
    },
    /// An argument has an invalid value for one column: a value that is not a scalar, an unknown type.
    #[error("argument `{argument}`, column {}: {reason}", quoted(.column))]
    BadColumn {
        /// The argument's name.
        argument: &'static str,
        /// The column that it concerns.
        column: String,
        /// The problem.
        reason: String,
    },
    /// The column is masked: its values are neither compared nor returned as they are.
    #[error(
        "column {} of table {} is masked; its values cannot be compared, sorted or read{}",
        quoted(.column), quoted(.table), match .argument {
            Some(argument) => format!("; remove it from `{argument}`"),
            None => " in SQL; use query_records, which returns them masked".to_owned(),
        }
    )]
    Masked {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The argument that names it. `None` for SQL.
        argument: Option<&'static str>,
    },
    /// A table or view of this name already exists.
    #[error("table or view {} already exists", quoted(.table))]
    TableExists {
        /// As the schema spells it.
        table: String,
    },
    /// The call changes a database that is served read-only.
    #[error("the database is served read-only; start the server with --writable to allow changes")]
    ReadOnly,
    /// A change would have affected more rows than it may. Nothing was changed.
    #[error(
        "more than {max} rows would be changed, including those that `replace`, foreign keys and triggers change; \
         nothing was changed; narrow the change, or raise `max_affected` (server default: `--max-affected`)"
    )]
    TooManyRows {
        /// The limit.
        max: u64,
        /// The table of the call, if it names one.
        table: Option<String>,
    },
    /// A change would break a constraint of the schema. Nothing was changed.
    #[error("constraint failed: {message}{}", additions(.report))]
    Constraint {
        /// The message of the engine.
        message: String,
        /// The table, if the engine names one.
        table: Option<String>,
        /// The column, if the engine names exactly one.
        column: Option<String>,
        /// The further parts of the report of PostgreSQL.
        report: Option<Box<ServerReport>>,
    },
    /// A condition of a filter is invalid.
    #[error("filter on column {}: {reason}", quoted(.column))]
    BadFilter {
        /// The column that the filter is on.
        column: String,
        /// The problem of the condition.
        reason: String,
    },
    /// The cursor was not issued by this server, or belongs to another request.
    #[error("invalid cursor: {reason}")]
    BadCursor {
        /// The reason.
        reason: &'static str,
    },
    /// The parameters do not fit those of the statement.
    #[error("query parameters: {reason}")]
    BadParams {
        /// The parameter and its problem.
        reason: String,
    },
    /// The value of a parameter is invalid for its type.
    #[error("query parameters: number {number}: {reason}")]
    BadParam {
        /// The number of the parameter, from 1.
        number: usize,
        /// The problem.
        reason: String,
    },
    /// The SQL text is empty, or only comments and semicolons.
    #[error("the SQL text contains no statement")]
    NoStatement,
    /// Text other than white space and comments follows the first statement.
    #[error("only one statement per call is allowed, and text follows the first one")]
    MultipleStatements,
    /// The SQL text contains a NUL character.
    #[error("the SQL text contains a NUL character at byte {offset}")]
    NulInSql {
        /// Byte offset of the first NUL.
        offset: usize,
    },
    /// The engine cannot compile the SQL text, or a function in it refused its arguments.
    #[error("SQL error: {message}{}{}", additions(.report), suggestion(.candidates))]
    Sql {
        /// The message of the engine.
        message: String,
        /// Byte offset of the offending token in the SQL text, if it is known.
        offset: Option<usize>,
        /// The table at fault, if it is known.
        table: Option<String>,
        /// The column at fault, if it is known.
        column: Option<String>,
        /// Similar existing names for an unknown table or column, nearest first; at most three.
        candidates: Vec<String>,
        /// The further parts of the report of PostgreSQL.
        report: Option<Box<ServerReport>>,
    },
    /// The statement is well-formed, but not allowed.
    #[error("statement not allowed: {reason}")]
    Forbidden {
        /// The reason.
        reason: String,
    },
    /// The database has a rule for the roles of callers, which gives this caller no role.
    #[error("no role of the database for this caller: {reason}")]
    UnknownRole {
        /// The problem of the claim.
        reason: String,
    },
    /// The statement, a value in it, or the first row of its result is larger than a limit of the
    /// server.
    #[error("the query exceeds a limit: {message}")]
    OverLimit {
        /// The limit.
        message: String,
    },
    /// The running queries need more memory than [`SqliteConfig::heap_limit`](crate::sqlite::SqliteConfig).
    #[error(
        "out of memory: the running queries have reached the SQLite heap limit; request less data, or try again \
         later"
    )]
    OutOfMemory,
    /// The call exceeded its deadline.
    #[error("the query did not finish within {} ms", .limit.as_millis())]
    Timeout {
        /// The time that the call was given.
        limit: Duration,
    },
    /// The statement was interrupted. No caller gets this error: a query is interrupted when its future is dropped.
    #[error("the query was cancelled")]
    Cancelled,
    /// All readers (or the writer) are busy and the queue is full, or none became free in time. The call can be
    /// retried.
    #[error("the database is busy with other calls; try again later")]
    Busy,
    /// Another connection or process holds a lock on the database. Nothing was changed. The call can be retried.
    #[error("the database is locked by another reader or writer; try again later")]
    Locked,
    /// Another process kept changing the file, or the schema, while it was read. Nothing was changed. The call can be
    /// retried.
    #[error("the database kept changing while it was read; try again later")]
    Changing,
    /// The database can no longer be opened.
    #[error("the database cannot be opened")]
    Unavailable(#[source] BoxError),
    /// No connection to the server of the database can be opened, or the connection was lost. Nothing was changed. The
    /// call can be retried.
    #[error("the database server cannot be reached; try again later")]
    Unreachable(#[source] BoxError),
    /// A table or column that a [rule](crate::VisibilityRules) names does not exist: what the rule protects may have been
    /// renamed. Nothing was read or changed. The source names the rule.
    #[error("the rules of the database do not match its schema; the operator has to correct them")]
    UnmatchedRules(#[source] BoxError),
    /// The database file was removed or renamed while it was served.
    #[error("the database file was removed or renamed; calls fail until it is back")]
    Missing,
    /// The database file was replaced while it had a log, which may be that of the old file.
    #[error(
        "the database file was replaced while it had a log, which may be that of the old file; calls \
         fail until the log is removed"
    )]
    Replaced,
    /// A terminated writer left an unfinished transaction, which a reader cannot roll back.
    #[error(
        "the database has an unfinished transaction of another process; open it once for writing to roll it back"
    )]
    NeedsRecovery,
    /// The disk is full. Nothing was changed.
    #[error("the disk is full, or the database has reached its maximum size; nothing was changed")]
    DiskFull,
    /// The engine could not read or write the database.
    #[error("the database cannot be read or written")]
    Failure(#[source] BoxError),
    /// The thread of the call ended without a result. This is a bug in this crate.
    #[error("the database thread ended without a result")]
    ReaderLost,
    /// The commit had begun at the deadline and did not end within 5 further seconds.
    #[error("the commit was not confirmed in time; check whether the change was made")]
    Unconfirmed,
    /// The database is being closed.
    #[error("the database is being closed")]
    Closed,
}

/// The parts of an error of PostgreSQL in addition to its message, its table and its column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerReport {
    /// The SQLSTATE, also one of the database's own, as in `RAISE … USING ERRCODE = 'MY001'`.
    pub sqlstate: String,
    /// The detail. It may contain stored values.
    pub detail: Option<String>,
    /// The hint.
    pub hint: Option<String>,
    /// The constraint.
    pub constraint: Option<String>,
    /// Whether the message may contain stored values, so that rules hide it too.
    pub(crate) is_withheld_under_rules: bool,
}

/// The class of an [`Error`], by what a client can do about it. Exhaustive: a protocol maps each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request is invalid. A retry fails again.
    Request,
    /// The request is well-formed and not permitted.
    Forbidden,
    /// The request is well-formed and over a limit: size, memory or time.
    Limit,
    /// The caller cancelled the call.
    Cancelled,
    /// The server or the file is busy, or the server cannot be reached. Nothing was changed. A retry may succeed.
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
    /// The constraint at fault, in PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    /// The SQLSTATE, in PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqlstate: Option<String>,
    /// The argument at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<&'static str>,
    /// Byte offset in the SQL text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
    /// Similar existing names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// The maximum number of changed rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_affected: Option<u64>,
    /// The timeout, in milliseconds.
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
            Self::Masked { table, column, argument } => {
                details.table = Some(table.clone());
                details.column = Some(column.clone());
                details.argument = *argument;
            }
            Self::TableExists { table } => details.table = Some(table.clone()),
            Self::Constraint { table, column, report, .. } => {
                details.table.clone_from(table);
                details.column.clone_from(column);
                details.add(report.as_deref());
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
            Self::BadParams { .. } | Self::BadParam { .. } => details.argument = Some("params"),
            Self::NulInSql { offset } => details.offset = Some(*offset),
            Self::Sql { offset, table, column, candidates, report, .. } => {
                details.add(report.as_deref());
                details.offset = *offset;
                details.table.clone_from(table);
                details.column.clone_from(column);
                details.candidates.clone_from(candidates);
            }
            Self::Timeout { limit } => details.timeout_ms = u64::try_from(limit.as_millis()).ok(),
            _ => {}
        }
        details
    }

    /// The error of an internal statement on a table: without the offset in SQL that the caller does not know, and with
    /// the table, unless the engine names another one.
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

    /// The error for callers whose rules hide tables or mask columns: without the texts that may contain what they hide.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only errors of PostgreSQL have such texts")
    )]
    pub(crate) fn under_rules(mut self) -> Self {
        let (Self::Sql { report, .. } | Self::Constraint { report, .. }) = &mut self else {
            return self;
        };
        let Some(found) = report else { return self };
        found.detail = None;
        if !found.is_withheld_under_rules {
            return self;
        }
        let message = format!(
            "the database reported SQLSTATE {}; its message is not shown, since rules hide tables or columns of \
             this database",
            found.sqlstate.escape_debug()
        );
        let report = ServerReport {
            sqlstate: std::mem::take(&mut found.sqlstate),
            ..ServerReport::default()
        };
        Self::Sql {
            message,
            offset: None,
            table: None,
            column: None,
            candidates: Vec::new(),
            report: Some(Box::new(report)),
        }
    }

    /// The error with other names in its texts.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only errors of PostgreSQL have internal names")
    )]
    pub(crate) fn with_names(mut self, names: &[(String, String)]) -> Self {
        let (mut texts, mut parts) = (Vec::new(), None);
        match &mut self {
            Self::Sql { message, table, column, report, .. }
            | Self::Constraint { message, table, column, report } => {
                texts.push(message);
                texts.extend(table);
                texts.extend(column);
                parts = report.as_mut();
            }
            Self::Forbidden { reason: text }
            | Self::BadParams { reason: text }
            | Self::BadParam { reason: text, .. }
            | Self::OverLimit { message: text } => texts.push(text),
            _ => {}
        }
        if let Some(report) = parts {
            texts.extend(report.detail.as_mut());
            texts.extend(report.hint.as_mut());
            texts.extend(report.constraint.as_mut());
        }
        for text in texts {
            for (internal, name) in names {
                *text = text.replace(internal, name);
            }
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
            Self::Masked { .. } => (Forbidden, "masked"),
            Self::TableExists { .. } => (Request, "table_exists"),
            Self::Constraint { .. } => (Request, "constraint"),
            Self::BadFilter { .. } => (Request, "bad_filter"),
            Self::BadCursor { .. } => (Request, "bad_cursor"),
            Self::BadParams { .. } | Self::BadParam { .. } => (Request, "bad_params"),
            Self::NoStatement => (Request, "no_statement"),
            Self::MultipleStatements => (Request, "multiple_statements"),
            Self::NulInSql { .. } => (Request, "nul_in_sql"),
            Self::Sql { .. } => (Request, "sql"),
            Self::Forbidden { .. } => (Forbidden, "forbidden"),
            Self::ReadOnly => (Forbidden, "read_only"),
            Self::UnknownRole { .. } => (Forbidden, "unknown_role"),
            Self::OverLimit { .. } => (Limit, "over_limit"),
            Self::TooManyRows { .. } => (Limit, "too_many_rows"),
            Self::OutOfMemory => (Limit, "out_of_memory"),
            Self::Timeout { .. } => (Limit, "timeout"),
            Self::Cancelled => (Cancelled, "cancelled"),
            Self::Busy => (Retry, "busy"),
            Self::Locked => (Retry, "locked"),
            Self::Changing => (Retry, "changing"),
            Self::Closed => (Retry, "closed"),
            Self::Unreachable(_) => (Retry, "unreachable"),
            Self::Unavailable(_) | Self::Missing | Self::Replaced | Self::NeedsRecovery => {
                (Database, "unavailable")
            }
            Self::UnmatchedRules(_) => (Database, "unmatched_rules"),
            Self::DiskFull => (Database, "disk_full"),
            Self::Failure(_) => (Database, "failure"),
            Self::ReaderLost => (Database, "reader_lost"),
            Self::Unconfirmed => (Database, "unconfirmed"),
        }
    }
}

impl Details {
    fn add(&mut self, report: Option<&ServerReport>) {
        self.constraint = report.and_then(|report| report.constraint.clone());
        self.sqlstate = report.map(|report| report.sqlstate.clone());
    }
}

/// The detail and the hint of a report, after the message.
fn additions(report: &Option<Box<ServerReport>>) -> String {
    let Some(report) = report else { return String::new() };
    let part = |name: &str, text: &Option<String>| match text {
        Some(text) => format!("; {name}: {}", text.trim_end_matches('.')),
        None => String::new(),
    };
    part("detail", &report.detail) + &part("hint", &report.hint)
}

/// A name in backticks. Line breaks and quotes in it are escaped.
fn quoted(name: &str) -> String {
    format!("`{}`", name.escape_debug())
}

/// The end of a message about an unknown name.
pub(crate) fn suggestion(candidates: &[String]) -> String {
    let names: Vec<String> = candidates.iter().map(|name| quoted(name)).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [many @ .., last] => format!("; did you mean {} or {last}?", many.join(", ")),
    }
}
