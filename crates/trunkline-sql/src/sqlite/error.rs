use rusqlite::{ErrorCode, ffi};

use crate::model::error::Error;

/// Maximum length of a message of SQLite, in characters. Functions, triggers and schemas put any text into it.
const MESSAGE_LENGTH: usize = 1_000;

/// Converts SQLite's result codes. Messages that are kept come from SQLite's compiler and functions and contain no
/// paths.
impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let (cause, message, offset) = match &error {
            rusqlite::Error::SqliteFailure(cause, message) => (cause, message.as_deref(), None),
            rusqlite::Error::SqlInputError { error: cause, msg, offset, .. } => {
                (cause, Some(msg.as_str()), usize::try_from(*offset).ok())
            }
            _ => return Self::Failure(error.into()),
        };
        let message = message.unwrap_or("no message");
        match cause.code {
            // SQLite reports a function that the authorizer refuses as an ordinary error.
            ErrorCode::Unknown if message.starts_with("not authorized") => {
                Self::Forbidden { reason: quoted(message) }
            }
            // SQLITE_ERROR, which rusqlite calls unknown: invalid SQL.
            ErrorCode::Unknown if is_limit(message) => Self::OverLimit { message: quoted(message) },
            ErrorCode::Unknown | ErrorCode::TypeMismatch => {
                let (table, column) = place_of_mistake(message);
                Self::Sql {
                    message: format!("{}{}", cut(message), remedy(message)),
                    offset,
                    table,
                    column,
                    candidates: Vec::new(),
                    report: None,
                }
            }
            ErrorCode::ConstraintViolation => {
                let (table, column) = place_of_constraint(message);
                Self::Constraint { message: cut(message), table, column, report: None }
            }
            // Also of a statement that SQLite recompiles, where the role is not known.
            ErrorCode::AuthorizationForStatementDenied => {
                Self::Forbidden { reason: "the server does not permit this action".to_owned() }
            }
            ErrorCode::ReadOnly if needs_recovery(cause.extended_code) => Self::NeedsRecovery,
            // The file was replaced in this moment.
            ErrorCode::ReadOnly if cause.extended_code == ffi::SQLITE_READONLY_DBMOVED => {
                Self::Changing
            }
            ErrorCode::ReadOnly => Self::Forbidden { reason: "it changes the database".to_owned() },
            ErrorCode::TooBig => Self::OverLimit { message: quoted(message) },
            ErrorCode::OutOfMemory => Self::OutOfMemory,
            ErrorCode::DiskFull => Self::DiskFull,
            // The worker distinguishes the deadline from a cancellation.
            ErrorCode::OperationInterrupted => Self::Cancelled,
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed => Self::Locked,
            // After SQLite has compiled the statement several times.
            ErrorCode::SchemaChanged => Self::Changing,
            // The table of the statement is damaged, such as a full-text index that does not match its content. The
            // database is not.
            ErrorCode::DatabaseCorrupt if cause.extended_code == ffi::SQLITE_CORRUPT_VTAB => {
                Self::Sql {
                    message: format!("a virtual table is damaged: {}", cut(message)),
                    offset: None,
                    table: None,
                    column: None,
                    candidates: Vec::new(),
                    report: None,
                }
            }
            _ => Self::Failure(error.into()),
        }
    }
}

/// SQLite's message within another one.
fn quoted(message: &str) -> String {
    format!("{:?}", cut(message))
}

fn cut(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_LENGTH) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

/// The remedy for a message about something that only another program has, or nothing.
fn remedy(message: &str) -> &'static str {
    const FUNCTION: &str =
        "; if the schema uses it, only the program that created the database has this function";
    let (kind, name) = message.split_once(": ").unwrap_or((message, ""));
    match (kind, name.to_ascii_lowercase().as_str()) {
        ("no such function", "regexp" | "regexpi") => {
            "; SQLite has no regular expressions: use LIKE, GLOB or instr"
        }
        ("no such function", "median" | "percentile" | "percentile_cont" | "percentile_disc") => {
            "; use ORDER BY with LIMIT and OFFSET, or the window function ntile"
        }
        ("no such function" | "unknown function", _) => FUNCTION,
        ("no such collation sequence", _) => {
            "; only the program that created the database has this collation: do not sort or compare this column"
        }
        ("no such module", _) => {
            "; only the program that created the database has this module of virtual tables"
        }
        ("no query solution", _) => {
            "; the primary key of the table may use a collation that only the program that created the database has"
        }
        _ => "",
    }
}

/// A reader met the journal of a writer that has ended in the middle of a transaction.
fn needs_recovery(extended_code: i32) -> bool {
    matches!(
        extended_code,
        ffi::SQLITE_READONLY_ROLLBACK
            | ffi::SQLITE_READONLY_RECOVERY
            | ffi::SQLITE_READONLY_CANTINIT
    )
}

/// SQLite reports most of its limits as plain errors. A name of the schema may follow these prefixes, but no message
/// begins with a name.
fn is_limit(message: &str) -> bool {
    const BEGINNINGS: [&str; 13] = [
        "too many columns ",
        "too many FROM clause terms, max: ",
        "too many SQL variables",
        "variable number must be between ",
        "too many terms in ",
        "too many arguments on function ",
        "too many references to ",
        "too many schema objects",
        "Expression tree is too large (maximum depth ",
        "LIKE or GLOB pattern too complex",
        "VIEWs and/or subqueries nested too deep",
        "parser stack overflow",
        "Recursion limit",
    ];
    BEGINNINGS.iter().any(|beginning| message.starts_with(beginning))
}

/// A table and a column, if known.
///
/// The names in SQLite's messages are not quoted, so ambiguous names are omitted.
type Place = (Option<String>, Option<String>);

/// The place in a message about invalid SQL.
pub(super) fn place_of_mistake(message: &str) -> Place {
    if let Some(table) = message.strip_prefix("no such table: ") {
        return (Some(without_schema(table).to_owned()), None);
    }
    if let Some(column) = message.strip_prefix("no such column: ") {
        // SQLite's hint about a name in double quotes.
        let column = column.split(" - should this be").next().unwrap_or(column);
        let column = column.trim_matches('"');
        return match dotted(column) {
            Some((table, column)) => (Some(table), Some(column)),
            None => (None, Some(column.to_owned())),
        };
    }
    for (before, after) in [
        ("cannot INSERT into generated column \"", "\""),
        ("cannot UPDATE generated column \"", "\""),
    ] {
        if let Some(column) = between(message, before, after) {
            return (None, Some(column.to_owned()));
        }
    }
    for (before, after) in [
        ("cannot modify ", " because it is a view"),
        ("table ", " may not be modified"),
        ("table ", " already exists"),
    ] {
        if let Some(table) = between(message, before, after) {
            return (Some(without_schema(table).trim_matches('"').to_owned()), None);
        }
    }
    let parts = message.strip_prefix("table ").map(|rest| rest.split(" has no column named "));
    match parts.map(Iterator::collect::<Vec<_>>).as_deref() {
        Some([table, column]) => {
            (Some(without_schema(table).to_owned()), Some((*column).to_owned()))
        }
        _ => (None, None),
    }
}

/// The place in a message about a constraint: "UNIQUE constraint failed: emp.name". The message of a trigger may be
/// any text. That of a CHECK contains its name or its expression, but no column.
fn place_of_constraint(message: &str) -> Place {
    // "cannot store TEXT value in INTEGER column emp.age"
    if message.starts_with("cannot store ") {
        let place = message.split_once(" column ").and_then(|(_, place)| dotted(place));
        return place.map_or((None, None), |(table, column)| (Some(table), Some(column)));
    }
    let places = ["UNIQUE constraint failed: ", "NOT NULL constraint failed: "]
        .iter()
        .find_map(|kind| message.strip_prefix(kind))
        .unwrap_or_default();
    let (mut table, mut column) = (None, None);
    for (index, place) in places.split(", ").enumerate() {
        (table, column) = match dotted(place) {
            Some((first, second)) => (Some(first), Some(second).filter(|_| index == 0)),
            None => (None, None),
        };
    }
    (table, column)
}

fn between<'m>(message: &'m str, before: &str, after: &str) -> Option<&'m str> {
    message.strip_prefix(before)?.strip_suffix(after)
}

fn without_schema(table: &str) -> &str {
    table.strip_prefix("main.").unwrap_or(table)
}

/// A table and its column, if there is exactly one dot.
fn dotted(place: &str) -> Option<(String, String)> {
    let (table, column) = place.split_once('.')?;
    (!column.contains('.')).then(|| (table.to_owned(), column.to_owned()))
}
