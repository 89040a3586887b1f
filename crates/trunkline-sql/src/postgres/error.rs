use tokio_postgres::error::{DbError, ErrorPosition, SqlState};
use trunkline_postgres::is_connection_lost;

use super::security::{has_foreign_parameters, name_at};
use crate::model::error::Error;

/// Maximum length of a message of the server, in characters. Functions and triggers put any text into it.
const MESSAGE_LENGTH: usize = 1_000;

/// Converts the error codes of PostgreSQL. Messages that are kept come from its parser, its functions and constraints.
/// Details, which contain stored values, are not among them.
impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        if is_connection_lost(&error) {
            return Self::Unreachable(error.into());
        }
        let found = error.as_db_error().and_then(from_server);
        found.unwrap_or_else(|| Self::Failure(error.into()))
    }
}

fn from_server(error: &DbError) -> Option<Error> {
    let code = error.code();
    let (class, _) = code.code().split_at_checked(2)?;
    let found = match class {
        _ if *code == SqlState::QUERY_CANCELED => Error::Cancelled,
        _ if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
            Error::Forbidden { reason: message(error) }
        }
        _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::Forbidden { reason: message(error) }
        }
        _ if is_lock(code) => Error::Locked,
        _ if *code == SqlState::DISK_FULL => Error::DiskFull,
        _ if *code == SqlState::TOO_MANY_CONNECTIONS => Error::Busy,
        "23" => Error::Constraint {
            message: message(error),
            table: error.table().map(str::to_owned),
            column: error.column().map(str::to_owned),
        },
        "22" if let Some(number) = parameter(error) => {
            Error::BadParam { number, reason: message(error) }
        }
        // A limit of the server's configuration, or memory.
        "53" | "54" => Error::OverLimit { message: message(error) },
        // A function that returns no value in the binary format.
        "42" if error.message().starts_with("no binary output function") => Error::Sql {
            message: format!("{}; cast the column to text", message(error)),
            offset: None,
            table: None,
            column: None,
            candidates: Vec::new(),
        },
        "0A" | "20" | "21" | "22" | "25" | "26" | "27" | "2B" | "2F" | "34" | "38" | "39"
        | "3B" | "3F" | "42" | "44" | "55" | "P0" => Error::Sql {
            message: message(error),
            offset: None,
            table: error.table().map(str::to_owned),
            column: error.column().map(str::to_owned),
            candidates: Vec::new(),
        },
        _ => return None,
    };
    Some(found)
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

/// The number of the parameter whose value is invalid: "unnamed portal parameter $1".
fn parameter(error: &DbError) -> Option<usize> {
    let (_, rest) = error.where_()?.split_once("portal parameter $")?;
    rest.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

/// The message with its hint.
fn message(error: &DbError) -> String {
    let message = match error.hint() {
        Some(hint) => format!("{}; hint: {}", error.message(), hint.trim_end_matches('.')),
        None => error.message().to_owned(),
    };
    match message.char_indices().nth(MESSAGE_LENGTH) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message,
    }
}

/// The error of a statement of the caller: with the place in its text.
pub(super) fn in_statement(error: tokio_postgres::Error, sql: &str) -> Error {
    let position = error.as_db_error().and_then(DbError::position).cloned();
    let code = error.code().cloned();
    match (Error::from(error), position) {
        (
            Error::Sql { message, table, column, candidates, .. },
            Some(ErrorPosition::Original(position)),
        ) => {
            // A number of characters, from 1.
            let index = (position as usize).saturating_sub(1);
            let offset = sql.char_indices().nth(index).map(|(offset, _)| offset);
            let message = with_parameter_hint(message, code.as_ref(), sql);
            let error = Error::Sql { message, offset, table, column, candidates };
            match code {
                Some(code) => note_name(error, &code, sql),
                None => error,
            }
        }
        (error, _) => error,
    }
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
    let Error::Sql { message, offset: Some(offset), mut table, mut column, candidates } = error
    else {
        return error;
    };
    if *code == SqlState::UNDEFINED_TABLE {
        table = Some(name_at(sql, offset).join(".")).filter(|name| !name.is_empty());
    } else if *code == SqlState::UNDEFINED_COLUMN {
        column = name_at(sql, offset).pop();
    }
    Error::Sql { message, offset: Some(offset), table, column, candidates }
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
