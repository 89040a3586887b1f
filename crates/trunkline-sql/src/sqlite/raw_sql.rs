//! SQL of callers under rules: hidden tables do not exist, and masked columns are refused.
//!
//! The authorizer refuses reads of columns (`security::scope`). SQLite does not report the columns that `USING` and
//! `NATURAL JOIN` compare, and not each table, so the tables that the compiled program opens are checked, too.

use std::sync::Arc;

use super::error::place_of_mistake;
use super::program::{Opened, in_scope, opened_tables};
use super::schema;
use super::session::Session;
use super::tokens::{self, Name};
use super::value;
use crate::model::error::Error;
use crate::sqlite::security::{Refusal, SqlScope};

/// Runs `work`, which compiles and runs a statement of a caller, in one read transaction. Statements must not come from
/// the cache, since the rules apply while a statement is compiled.
pub(super) fn restricted<T>(
    session: &mut Session<'_>,
    sql: &str,
    work: impl FnOnce(&mut Session<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    if session.config().rules.is_empty() {
        return work(session);
    }
    session.begin_read()?;
    let outcome = within_rules(session, sql, work);
    session.end_read();
    outcome
}

fn within_rules<T>(
    session: &mut Session<'_>,
    sql: &str,
    work: impl FnOnce(&mut Session<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let scope = schema::scope(session)?;
    let names = tokens::names(sql);
    let is_hidden = |name: &&Name| scope.hidden.contains(&name.text.to_ascii_lowercase());
    let hidden: Vec<&Name> = names.iter().filter(is_hidden).collect();
    check_names(session, &scope, sql, &hidden)?;
    check_index_hints(session, &scope, &names)?;
    let (outcome, refusal) = in_scope(session, &scope, |session| {
        drop(session.prepare(sql)?);
        let opened = opened_tables(session, &scope, tokens::explained(sql))?;
        check_joins(&scope, &opened, sql)?;
        work(session)
    });
    match (outcome, refusal) {
        (Err(_), Some(refusal)) => Err(refused(refusal, hidden.first().copied())),
        (outcome, _) => outcome,
    }
}

/// Refuses a statement that names a hidden table, with the error of a table that does not exist: that of the same
/// statement with another name in its place. A column may have the name of a hidden table.
fn check_names(
    session: &mut Session<'_>,
    scope: &Arc<SqlScope>,
    sql: &str,
    hidden: &[&Name],
) -> Result<(), Error> {
    if hidden.is_empty() {
        return Ok(());
    }
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| Error::Failure(error.into()))?;
    let prefix = format!("absent_{:016x}_", u64::from_ne_bytes(random));
    let mut spellings: Vec<&str> = Vec::new();
    let (mut text, mut end) = (String::with_capacity(sql.len()), 0);
    for name in hidden {
        let known = spellings.iter().position(|one| one.eq_ignore_ascii_case(&name.text));
        let index = known.unwrap_or_else(|| {
            spellings.push(&name.text);
            spellings.len() - 1
        });
        text.push_str(&sql[end..name.range.start]);
        text.push_str(&format!("{}{prefix}{index}{}", quote_of(name), quote_of(name)));
        end = name.range.end;
    }
    text.push_str(&sql[end..]);
    let (compiled, _) = in_scope(session, scope, |session| session.prepare(&text).map(drop));
    match compiled {
        Err(Error::Sql { message, .. })
            if message.starts_with(NO_TABLE) && message.contains(&prefix) =>
        {
            let name = message[NO_TABLE.len()..].to_owned();
            let replace = |name: String, (index, spelling): (usize, &&str)| {
                name.replace(&format!("{prefix}{index}"), spelling)
            };
            // From the last one, since the first number is the beginning of others.
            Err(no_such_table(&spellings.iter().enumerate().rev().fold(name, replace)))
        }
        _ => Ok(()),
    }
}

/// Refuses `INDEXED BY` with an index of a table with masked columns: the order of the rows would be that of the index.
fn check_index_hints(
    session: &mut Session<'_>,
    scope: &SqlScope,
    names: &[Name],
) -> Result<(), Error> {
    const TABLE: &str =
        "SELECT tbl_name FROM sqlite_schema WHERE type = 'index' AND name = ?1 COLLATE NOCASE";
    for three in names.windows(3) {
        let [indexed, by, index] = three else { continue };
        if !indexed.is("indexed") || !by.is("by") {
            continue;
        }
        let tables = session.rows(TABLE, &[&index.text], |row| value::name(row, 0))?;
        let has_masks =
            |table: &String| scope.masked(table).is_some_and(|masked| !masked.is_empty());
        if tables.iter().flatten().any(has_masks) {
            let reason = "INDEXED BY is not permitted for a table with masked columns, since the rows would be in \
                          the order of the index";
            return Err(Error::Forbidden { reason: reason.to_owned() });
        }
    }
    Ok(())
}

fn quote_of(name: &Name) -> &'static str {
    if name.is_quoted { "\"" } else { "" }
}

const NO_TABLE: &str = "no such table: ";

/// The error of SQLite for an unknown table.
fn no_such_table(name: &str) -> Error {
    let message = format!("{NO_TABLE}{name}");
    let (table, column) = place_of_mistake(&message);
    Error::Sql { message, offset: None, table, column, candidates: Vec::new() }
}

fn refused(refusal: Refusal, hidden: Option<&Name>) -> Error {
    let forbidden = |reason: &str| Error::Forbidden { reason: reason.to_owned() };
    match (refusal, hidden) {
        (Refusal::Masked { table, column }, _) => Error::Masked { table, column, argument: None },
        (Refusal::Hidden, Some(name)) => no_such_table(&name.text),
        (Refusal::Hidden, None) => forbidden("it reads more than tables and views"),
        (Refusal::Schema, _) => forbidden(
            "rules hide tables of this database; use list_tables and describe_table to read the schema",
        ),
    }
}

/// Refuses joins that compare masked columns without naming them in an expression. The keywords cannot be written in
/// another way; they may also be part of another word.
fn check_joins(scope: &SqlScope, opened: &Opened, sql: &str) -> Result<(), Error> {
    let text = sql.to_lowercase();
    let (is_natural, has_using) = (text.contains("natural"), text.contains("using"));
    if !is_natural && !has_using {
        return Ok(());
    }
    if opened.has_virtual {
        let reason = "NATURAL and USING are not permitted with table-valued functions; use ON";
        return Err(Error::Forbidden { reason: reason.to_owned() });
    }
    for table in &opened.tables {
        for column in scope.masked(table).unwrap_or_default() {
            // A quote in a name is doubled in the text.
            let may_contain = text.contains(column.as_str())
                || column.contains(['"', '\'', '`', '[', ']'])
                || !column.is_ascii();
            if is_natural || may_contain {
                let reason = format!(
                    "column {column:?} of table {table:?} is masked, and NATURAL and USING may compare it; use ON"
                );
                return Err(Error::Forbidden { reason });
            }
        }
    }
    Ok(())
}
