use tokio_postgres::Statement;
use tokio_postgres::error::{DbError, ErrorPosition, SqlState};
use tokio_postgres::types::{Kind, Type};
use trunkline_postgres::is_connection_lost;

use super::security::{has_foreign_parameters, name_at};
use crate::model::error::{Error, ServerReport};

/// Maximum length of a message of the server, in characters. Functions and triggers put any text into it.
const MESSAGE_LENGTH: usize = 1_000;

/// The classes of errors whose messages concern the statement and its values. Those of others, which functions and
/// extensions define, may contain any stored value: under rules, they are not shown.
const KNOWN_CLASSES: [&str; 21] = [
    "0A", "20", "21", "22", "23", "25", "26", "27", "2B", "2F", "34", "38", "39", "3B", "3F", "42",
    "44", "53", "54", "55", "P0",
];

/// Converts the errors of PostgreSQL. An error is that of the statement, with the message of the server, unless the
/// connection is lost. Some have a separate kind, by what callers can do about them.
impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        if is_connection_lost(&error) {
            return Self::Unreachable(error.into());
        }
        match error.as_db_error() {
            Some(found) => from_server(found),
            None => Self::Failure(error.into()),
        }
    }
}

fn from_server(error: &DbError) -> Error {
    let code = error.code();
    let class = code.code().split_at_checked(2).map_or("", |(class, _)| class);
    // Code of the database may raise any SQLSTATE. That of a lock does not mean that there is one then.
    let is_own = !is_raised(error);
    match class {
        _ if is_own && *code == SqlState::QUERY_CANCELED => Error::Cancelled,
        _ if is_own
            && [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::INSUFFICIENT_PRIVILEGE]
                .contains(code) =>
        {
            Error::Forbidden { reason: message_with_hint(error) }
        }
        _ if is_own && is_lock(code) => Error::Locked,
        _ if is_own && *code == SqlState::DISK_FULL => Error::DiskFull,
        // Only a pooler reports it for a statement.
        _ if *code == SqlState::TOO_MANY_CONNECTIONS && error.file().is_none() => Error::Busy,
        "23" => Error::Constraint {
            message: cut(error.message()),
            table: error.table().map(str::to_owned),
            column: error.column().map(str::to_owned),
            report: Some(Box::new(report(error, class))),
        },
        _ if let Some(number) = parameter(error, class) => {
            let mut reason = message_with_hint(error);
            // Not if a function that the conversion calls has written it.
            if let Some(detail) = error.detail().filter(|_| !is_called(error)) {
                reason.push_str(&format!("; {}", cut(detail.trim_end_matches('.'))));
            }
            Error::BadParam { number, reason }
        }
        // A limit of the server's configuration, or memory.
        "53" | "54" if is_own => Error::OverLimit { message: message_with_hint(error) },
        _ => {
            if is_of_storage(code) {
                let (sqlstate, message) = (code.code(), error.message());
                tracing::error!(sqlstate, message, "PostgreSQL cannot read or write its files");
            }
            Error::Sql {
                message: cut(error.message()) + remedy(error),
                offset: None,
                table: error.table().map(str::to_owned),
                column: error.column().map(str::to_owned),
                candidates: Vec::new(),
                report: Some(Box::new(report(error, class))),
            }
        }
    }
}

/// The remedy for a value that cannot be sent.
fn remedy(error: &DbError) -> &'static str {
    // A function that returns no value in the binary format.
    if error.message().starts_with("no binary output function") {
        return "; cast the column to text";
    }
    // A stored byte that the encoding of the database does not define.
    if *error.code() == SqlState::UNTRANSLATABLE_CHARACTER {
        return "; read the column as bytes, with SQL: convert_to(COLUMN, getdatabaseencoding())";
    }
    ""
}

/// Whether the statement `RAISE` of a function or a trigger is the source of an error.
pub(super) fn is_raised(error: &DbError) -> bool {
    error.routine() == Some("exec_stmt_raise")
}

/// Errors of the files of the server, which its operator has to know.
fn is_of_storage(code: &SqlState) -> bool {
    code.code().starts_with("58")
        || [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code)
}

fn report(error: &DbError, class: &str) -> ServerReport {
    ServerReport {
        sqlstate: error.code().code().to_owned(),
        detail: error.detail().map(cut),
        hint: error.hint().map(cut),
        constraint: error.constraint().map(str::to_owned),
        is_withheld_under_rules: !KNOWN_CLASSES.contains(&class),
    }
}

/// Locks of other sessions: a retry may succeed.
fn is_lock(code: &SqlState) -> bool {
    [
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::OBJECT_IN_USE,
    ]
    .contains(code)
}

/// The number of the parameter whose value is invalid: "unnamed portal parameter $1". An error with an SQLSTATE of
/// an extension must be that of the conversion itself, and not of a function that a domain calls.
fn parameter(error: &DbError, class: &str) -> Option<usize> {
    let (_, rest) = error.where_()?.split_once("portal parameter $")?;
    if class != "22" && (is_called(error) || KNOWN_CLASSES.contains(&class)) {
        return None;
    }
    rest.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// Whether the context of an error has several lines: functions that call each other.
fn is_called(error: &DbError) -> bool {
    error.where_().is_some_and(|context| context.contains('\n'))
}

/// The message with its hint.
fn message_with_hint(error: &DbError) -> String {
    match error.hint() {
        Some(hint) => cut(&format!("{}; hint: {}", error.message(), hint.trim_end_matches('.'))),
        None => cut(error.message()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The error of a statement of the caller: with the place in its text.
pub(super) fn in_statement(error: tokio_postgres::Error, sql: &str) -> Error {
    let position = error.as_db_error().and_then(DbError::position).cloned();
    let code = error.code().cloned();
    match (Error::from(error), position) {
        (
            Error::Sql { message, table, column, candidates, report, .. },
            Some(ErrorPosition::Original(position)),
        ) => {
            // A number of characters, from 1.
            let index = (position as usize).saturating_sub(1);
            let offset = sql.char_indices().nth(index).map(|(offset, _)| offset);
            let message = with_parameter_hint(message, code.as_ref(), sql);
            let error = Error::Sql { message, offset, table, column, candidates, report };
            match code {
                Some(code) => note_name(error, &code, sql),
                None => error,
            }
        }
        (error, _) => error,
    }
}

/// The error of a statement that was prepared: with the values of an enum, if that of a parameter is not one of them.
pub(super) fn of_statement(error: tokio_postgres::Error, statement: &Statement) -> Error {
    let is_enum = error.code() == Some(&SqlState::INVALID_TEXT_REPRESENTATION);
    match Error::from(error) {
        Error::BadParam { number, reason } if is_enum => {
            let kind = number.checked_sub(1).and_then(|index| statement.params().get(index));
            let values = kind.and_then(enum_values).map(allowed_values).unwrap_or_default();
            Error::BadParam { number, reason: reason + &values }
        }
        error => error,
    }
}

/// The error of an inserted row. A policy of row-level security refuses the row, and not the statement.
pub(super) fn of_row(error: tokio_postgres::Error, statement: &Statement) -> Error {
    let is_refused = |error: &&DbError| {
        *error.code() == SqlState::INSUFFICIENT_PRIVILEGE
            && error.routine() == Some("ExecWithCheckOptions")
    };
    match error.as_db_error().filter(is_refused) {
        Some(found) => Error::Constraint {
            message: message_with_hint(found),
            table: found.table().map(str::to_owned),
            column: None,
            report: None,
        },
        None => of_statement(error, statement),
    }
}

/// The values of an enum, of a domain of one, or of the elements of an array.
fn enum_values(kind: &Type) -> Option<&[String]> {
    match kind.kind() {
        Kind::Enum(values) => Some(values),
        Kind::Domain(inner) | Kind::Array(inner) => enum_values(inner),
        _ => None,
    }
}

/// The end of a message about an invalid value of an enum.
pub(super) fn allowed_values(values: &[String]) -> String {
    /// Maximum number of values in a message.
    const SHOWN: usize = 30;
    let shown: Vec<String> = values.iter().take(SHOWN).map(|value| format!("{value:?}")).collect();
    let more = if values.len() > SHOWN { ", …" } else { "" };
    format!("; the values are {}{more}", shown.join(", "))
}

/// The message of a statement that may have parameters of another engine.
fn with_parameter_hint(message: String, code: Option<&SqlState>, sql: &str) -> String {
    let is_misread = [SqlState::SYNTAX_ERROR, SqlState::UNDEFINED_FUNCTION]
        .iter()
        .any(|known| code == Some(known));
    if is_misread && has_foreign_parameters(sql) {
        return format!(
            "{message}; parameters are $1, $2, … with a list of values, not ? or :name"
        );
    }
    message
}

/// Adds the unknown name to the error of a statement. `offset` is the place of the name.
fn note_name(error: Error, code: &SqlState, sql: &str) -> Error {
    let Error::Sql { message, offset: Some(offset), mut table, mut column, candidates, report } =
        error
    else {
        return error;
    };
    if *code == SqlState::UNDEFINED_TABLE {
        table = Some(name_at(sql, offset).join(".")).filter(|name| !name.is_empty());
    } else if *code == SqlState::UNDEFINED_COLUMN {
        column = name_at(sql, offset).pop();
    }
    Error::Sql { message, offset: Some(offset), table, column, candidates, report }
}

/// The error of a statement whose values are those of columns: with the column instead of the number of a parameter.
pub(crate) fn with_column(error: Error, data: &[&str], filters: &[&str]) -> Error {
    let Error::BadParam { number, reason } = error else { return error };
    let index = number.saturating_sub(1);
    let filter = || index.checked_sub(data.len()).and_then(|index| filters.get(index));
    match (data.get(index), filter()) {
        (Some(column), _) => {
            Error::BadColumn { argument: "data", column: (*column).to_owned(), reason }
        }
        (None, Some(column)) => Error::BadFilter { column: (*column).to_owned(), reason },
        (None, None) => Error::BadParam { number, reason },
    }
}
