//! Checks of the structure of a file.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};

use super::value;
use crate::query::identifier::quote;

/// The pragma of a check.
#[derive(Clone, Copy)]
pub(super) enum Pragma {
    /// Without the content of indexes.
    Quick,
    Integrity,
}

/// The outcome of a check.
#[derive(Default)]
pub(super) struct CheckedFile {
    /// The errors, up to the requested number.
    pub(super) errors: Vec<String>,
    /// The tables that could not be checked, with the reason.
    pub(super) unchecked: Vec<(String, String)>,
}

/// Checks the main database of a connection, and returns up to `max_errors` errors.
///
/// The pragma of the whole file fails if one table uses a function or collation that only another program has. Then
/// the tables are checked one by one.
pub(super) fn check(
    connection: &Connection,
    pragma: Pragma,
    max_errors: usize,
) -> rusqlite::Result<CheckedFile> {
    let name = match pragma {
        Pragma::Quick => "quick_check",
        Pragma::Integrity => "integrity_check",
    };
    match errors(connection, &format!("PRAGMA main.{name}({max_errors})")) {
        Ok(errors) => return Ok(CheckedFile { errors, unchecked: Vec::new() }),
        Err(error) if missing_object(&error).is_none() => return Err(error),
        Err(_) => {}
    }
    let mut checked = CheckedFile::default();
    let tables =
        "SELECT 'sqlite_schema' UNION ALL SELECT name FROM sqlite_schema WHERE type = 'table'";
    let mut tables = connection.prepare(tables)?;
    let tables = tables.query_map([], |row| value::name(row, 0))?;
    for table in tables.collect::<rusqlite::Result<Vec<_>>>()? {
        if checked.errors.len() >= max_errors {
            break;
        }
        let table = match table {
            Ok(table) => table,
            Err(shown) => {
                checked.unchecked.push((shown, "its name is not valid UTF-8".to_owned()));
                continue;
            }
        };
        match errors(connection, &format!("PRAGMA main.{name}({})", quote(&table))) {
            Ok(errors) => checked.errors.extend(errors),
            Err(error) => match missing_object(&error) {
                Some(reason) => checked.unchecked.push((table, reason.to_owned())),
                None => return Err(error),
            },
        }
    }
    checked.errors.truncate(max_errors);
    Ok(checked)
}

fn errors(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.raw_query();
    let mut errors = Vec::new();
    while let Some(row) = rows.next()? {
        match row.get_ref(0)? {
            ValueRef::Text(b"ok") => {}
            _ => errors.push(value::some_text(row, 0)?),
        }
    }
    Ok(errors)
}

/// SQLite's message, if it is about a function, collation or module that this program does not have.
pub(super) fn missing_object(error: &Error) -> Option<&str> {
    let message = match error {
        Error::SqliteFailure(_, message) => message.as_deref()?,
        Error::SqlInputError { msg, .. } => msg,
        _ => return None,
    };
    MISSING.iter().any(|beginning| message.starts_with(beginning)).then_some(message)
}

/// The beginnings of SQLite's messages about objects that another program has.
const MISSING: [&str; 4] = [
    "unknown function: ",
    "no such function: ",
    "no such collation sequence: ",
    "no such module: ",
];
