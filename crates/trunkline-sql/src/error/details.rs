use serde::Serialize;

use super::Error;

/// What a client can do about an [`Error`]. Closed: a protocol maps each of them.
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
    /// What a client can do about it.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::UnknownTable { .. }
            | Self::UnknownColumn { .. }
            | Self::TableExists { .. }
            | Self::Constraint { .. }
            | Self::BadArgument { .. }
            | Self::BadColumn { .. }
            | Self::BadFilter { .. }
            | Self::BadCursor { .. }
            | Self::BadParams { .. }
            | Self::NoStatement
            | Self::MultipleStatements
            | Self::NulInSql { .. }
            | Self::Sql { .. } => ErrorClass::Request,
            Self::Forbidden { .. } | Self::ReadOnly => ErrorClass::Forbidden,
            Self::OverLimit { .. }
            | Self::TooManyRows { .. }
            | Self::OutOfMemory
            | Self::Timeout { .. } => ErrorClass::Limit,
            Self::Cancelled => ErrorClass::Cancelled,
            Self::Busy | Self::Locked | Self::Changing | Self::Closed => ErrorClass::Retry,
            Self::Unavailable(_)
            | Self::Missing
            | Self::Replaced
            | Self::NeedsRecovery
            | Self::DiskFull
            | Self::Failure(_)
            | Self::ReaderLost
            | Self::Unconfirmed => ErrorClass::Database,
        }
    }

    /// The facts of its message as data.
    pub fn details(&self) -> Details {
        let mut details = Details { kind: self.kind(), ..Details::default() };
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

    fn kind(&self) -> &'static str {
        match self {
            Self::UnknownTable { .. } => "unknown_table",
            Self::UnknownColumn { .. } => "unknown_column",
            Self::BadArgument { .. } => "bad_argument",
            Self::BadColumn { .. } => "bad_column",
            Self::TableExists { .. } => "table_exists",
            Self::ReadOnly => "read_only",
            Self::TooManyRows { .. } => "too_many_rows",
            Self::Constraint { .. } => "constraint",
            Self::BadFilter { .. } => "bad_filter",
            Self::BadCursor { .. } => "bad_cursor",
            Self::BadParams { .. } => "bad_params",
            Self::NoStatement => "no_statement",
            Self::MultipleStatements => "multiple_statements",
            Self::NulInSql { .. } => "nul_in_sql",
            Self::Sql { .. } => "sql",
            Self::Forbidden { .. } => "forbidden",
            Self::OverLimit { .. } => "over_limit",
            Self::OutOfMemory => "out_of_memory",
            Self::Timeout { .. } => "timeout",
            Self::Cancelled => "cancelled",
            Self::Busy => "busy",
            Self::Locked => "locked",
            Self::Changing => "changing",
            Self::Unavailable(_) | Self::Missing | Self::Replaced | Self::NeedsRecovery => {
                "unavailable"
            }
            Self::DiskFull => "disk_full",
            Self::Failure(_) => "failure",
            Self::ReaderLost => "reader_lost",
            Self::Unconfirmed => "unconfirmed",
            Self::Closed => "closed",
        }
    }
}

/// The end of a message about an unknown name.
pub(super) fn suggest(candidates: &[String]) -> String {
    let quoted: Vec<String> = candidates.iter().map(|name| format!("{name:?}")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [many @ .., last] => format!("; did you mean {} or {last}?", many.join(", ")),
    }
}
