//! The tables that compiled statements open.

use std::sync::Arc;

use rusqlite::Statement;

use super::session::Session;
use super::value;
use crate::model::error::Error;
use crate::query::identifier::quote;
use crate::sqlite::security::{Refusal, SqlScope};

/// The tables that a compiled statement opens, and those of the indexes that it opens.
#[derive(Default)]
pub(super) struct Opened {
    pub(super) tables: Vec<String>,
    pub(super) has_virtual: bool,
}

fn unreadable() -> Error {
    Error::Forbidden { reason: UNREADABLE.to_owned() }
}

const UNREADABLE: &str = "it reads a table that is not visible";

fn is_unreadable(error: &Error) -> bool {
    matches!(error, Error::Forbidden { reason } if reason == UNREADABLE)
}

/// Compiles a statement, and returns the tables that its program opens.
///
/// # Errors
///
/// The statement opens a table that is not visible.
pub(super) fn opened_tables(
    session: &Session<'_>,
    scope: &SqlScope,
    sql: &str,
) -> Result<Opened, Error> {
    let mut program: Statement<'_> = session.prepare(&format!("EXPLAIN {sql}"))?;
    let mut opened = Opened::default();
    let mut rows = program.raw_query();
    while let Some(row) = rows.next()? {
        match value::some_text(row, 1)?.as_str() {
            "OpenRead" | "OpenWrite" | "ReopenIdx" => {
                let (root, database): (i64, i64) = (row.get(3)?, row.get(4)?);
                let table = scope.roots.get(&root).filter(|_| database == 0);
                let table = table.filter(|table| scope.masked(table).is_some());
                opened.tables.push(table.ok_or_else(unreadable)?.clone());
            }
            "VOpen" => opened.has_virtual = true,
            _ => {}
        }
    }
    Ok(opened)
}

/// Runs `work` with an authorizer that allows reads in a scope only.
pub(super) fn in_scope<T>(
    session: &mut Session<'_>,
    scope: &Arc<SqlScope>,
    work: impl FnOnce(&mut Session<'_>) -> Result<T, Error>,
) -> (Result<T, Error>, Option<Refusal>) {
    let Some(reader_state) = session.reader_state() else {
        return (Err(Error::ReaderLost), None);
    };
    reader_state.enter(Arc::clone(scope));
    let outcome = work(session);
    let refusal = reader_state.leave();
    match outcome {
        // From the opened tables.
        Err(error) if is_unreadable(&error) => (Err(error), refusal.or(Some(Refusal::Hidden))),
        outcome => (outcome, refusal),
    }
}

/// Whether SQL of callers may read a view: all tables that it opens are visible, and none has masked columns.
pub(super) fn shows_view(
    session: &mut Session<'_>,
    scope: &Arc<SqlScope>,
    view: &str,
) -> Result<bool, Error> {
    let sql = format!("SELECT * FROM main.{}", quote(view));
    let (opened, refusal) = in_scope(session, scope, |session| opened_tables(session, scope, &sql));
    let opened = match opened {
        Ok(opened) => opened,
        // The view is invalid, or refused.
        Err(
            Error::UnknownTable { .. }
            | Error::Sql { .. }
            | Error::Forbidden { .. }
            | Error::OverLimit { .. },
        ) => return Ok(false),
        Err(error) => return Err(error),
    };
    let is_unmasked = |table: &String| scope.masked(table).is_some_and(<[String]>::is_empty);
    Ok(refusal.is_none() && !opened.has_virtual && opened.tables.iter().all(is_unmasked))
}
