//! SQL of callers under rules: hidden tables do not exist, and masked columns are refused.
//!
//! The authorizer refuses reads of columns (`security::scope`). `SELECT *` reads those that are not masked, as in
//! PostgreSQL. SQLite does not report the columns that `USING` and
//! `NATURAL JOIN` compare, and not each table, so the tables that the compiled program opens are checked, too.

use std::sync::Arc;

use super::error::place_of_mistake;
use super::program::{Opened, in_scope, opened_tables};
use super::schema;
use super::session::Session;
use super::tokens::{self, Name};
use super::value;
use crate::model::error::Error;
use crate::query::identifier::quote;
use crate::sqlite::security::{Refusal, SqlScope};

/// Runs `work`, which compiles and runs the text that it gets: a statement of a caller, in one read transaction.
/// Statements must not come from the cache, since the rules apply while a statement is compiled.
pub(super) fn restricted<T>(
    session: &mut Session<'_>,
    sql: &str,
    work: impl FnOnce(&mut Session<'_>, &str) -> Result<T, Error>,
) -> Result<T, Error> {
    if session.config().rules.is_empty() {
        return work(session, sql);
    }
    session.begin_read()?;
    let outcome = within_rules(session, sql, work);
    session.end_read();
    outcome
}

fn within_rules<T>(
    session: &mut Session<'_>,
    sql: &str,
    work: impl FnOnce(&mut Session<'_>, &str) -> Result<T, Error>,
) -> Result<T, Error> {
    check_kind(sql)?;
    let scope = schema::scope(session)?;
    let names = tokens::names(sql);
    let is_hidden = |name: &&Name| scope.hidden.contains(&name.text.to_ascii_lowercase());
    let hidden: Vec<&Name> = names.iter().filter(is_hidden).collect();
    let absent = match absent_error(session, &scope, sql, &hidden)? {
        Some(error) if is_unknown_table(&error) => return Err(error),
        absent => absent,
    };
    check_index_hints(session, &scope, &names)?;
    let without_masks = without_masked_columns(session, &scope, sql, &names)?;
    let sql = without_masks.as_deref().unwrap_or(sql);
    let (outcome, refusal) = in_scope(session, &scope, |session| {
        drop(session.prepare(sql)?);
        let opened = opened_tables(session, &scope, tokens::explained(sql))?;
        check_joins(&scope, &opened, sql)?;
        work(session, sql)
    });
    match (outcome, refusal, absent) {
        (Err(_), Some(Refusal::Hidden), Some(absent)) => Err(absent),
        (Err(error), refusal, _) => Err(refused(error, refusal)),
        (outcome, ..) => outcome,
    }
}

/// Refuses statements that change rows or the schema, and further statements, before they are compiled: their errors
/// depend on the names of all tables, views, indexes and triggers.
fn check_kind(sql: &str) -> Result<(), Error> {
    const READING: [&str; 3] = ["select", "values", "pragma"];
    match tokens::verb(sql) {
        Some(verb) if !READING.contains(&verb.as_str()) => {
            let reason = format!(
                "rules hide or mask tables of this database, so only SELECT, VALUES, WITH, EXPLAIN and PRAGMA are \
                 permitted in SQL, not {verb:?}"
            );
            Err(Error::Forbidden { reason })
        }
        _ if tokens::has_several_statements(sql) => Err(Error::MultipleStatements),
        // Without a verb, SQLite reports a syntax error.
        _ => Ok(()),
    }
}

/// The statement with a common table expression in the place of each table with masked columns, without these columns. It
/// is used if the statement has a `*`, which the authorizer refuses, and names none of the masked columns nor row numbers,
/// which the expressions do not have: the names could then mean others.
fn without_masked_columns(
    session: &mut Session<'_>,
    scope: &Arc<SqlScope>,
    sql: &str,
    names: &[Name],
) -> Result<Option<String>, Error> {
    const ROW_NUMBERS: [&str; 3] = ["rowid", "_rowid_", "oid"];
    if !sql.contains('*') {
        return Ok(None);
    }
    let masks_of = |name: &Name| scope.masked(&name.text).filter(|masked| !masked.is_empty());
    let mut tables: Vec<String> = names
        .iter()
        .filter(|name| masks_of(name).is_some())
        .map(|name| name.text.to_ascii_lowercase())
        .collect();
    tables.sort_unstable();
    tables.dedup();
    let masked: Vec<&String> = names.iter().filter_map(masks_of).flatten().collect();
    let is_absent = |name: &Name| {
        let mut absent = masked.iter().map(|name| name.as_str()).chain(ROW_NUMBERS);
        absent.any(|one| one.eq_ignore_ascii_case(&name.text))
    };
    if tables.is_empty() || names.iter().any(is_absent) {
        return Ok(None);
    }
    let (compiled, refusal) = in_scope(session, scope, |session| session.prepare(sql).map(drop));
    if compiled.is_ok() || !matches!(refusal, Some(Refusal::Masked { .. })) {
        return Ok(None);
    }
    let mut definitions = Vec::new();
    for name in &tables {
        let table = session.table(name)?;
        let columns = table.visible_columns().filter(|column| column.mask.is_none());
        let columns: Vec<String> = columns.map(|column| quote(&column.name)).collect();
        let (name, columns) = (quote(&table.name), columns.join(", "));
        definitions.push(format!("{name} AS NOT MATERIALIZED (SELECT {columns} FROM main.{name})"));
    }
    let Some(text) = tokens::with_definitions(sql, &definitions.join(", "), &tables) else {
        return Ok(None);
    };
    let (compiled, _) = in_scope(session, scope, |session| session.prepare(&text).map(drop));
    Ok(compiled.is_ok().then_some(text))
}

/// The error of the same statement with names of no tables in the place of hidden ones, if it has one. A column may have
/// the name of a hidden table.
fn absent_error(
    session: &mut Session<'_>,
    scope: &Arc<SqlScope>,
    sql: &str,
    hidden: &[&Name],
) -> Result<Option<Error>, Error> {
    if hidden.is_empty() {
        return Ok(None);
    }
    let renamed = Renamed::new(sql, hidden)?;
    let (compiled, refusal) =
        in_scope(session, scope, |session| session.prepare(&renamed.text).map(drop));
    Ok(compiled.err().map(|error| renamed.restore(refused(error, refusal))))
}

/// A statement with other names.
struct Renamed<'n> {
    text: String,
    prefix: String,
    /// The names that were replaced.
    names: Vec<&'n str>,
    /// The places after the other names, and how much further they are than in the original.
    shifts: Vec<(usize, isize)>,
}

impl<'n> Renamed<'n> {
    fn new(sql: &str, hidden: &[&'n Name]) -> Result<Self, Error> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| Error::Failure(error.into()))?;
        let prefix = format!("absent_{:016x}_", u64::from_ne_bytes(random));
        let (mut names, mut shifts): (Vec<&str>, _) = (Vec::new(), Vec::new());
        let (mut text, mut end) = (String::with_capacity(sql.len()), 0);
        for name in hidden {
            let known = names.iter().position(|one| one.eq_ignore_ascii_case(&name.text));
            let index = known.unwrap_or_else(|| {
                names.push(&name.text);
                names.len() - 1
            });
            let quote = usize::from(name.is_quoted);
            text.push_str(&sql[end..name.range.start + quote]);
            text.push_str(&format!("{prefix}{index}"));
            end = name.range.end - quote;
            shifts.push((text.len(), text.len().cast_signed() - end.cast_signed()));
        }
        text.push_str(&sql[end..]);
        Ok(Self { text, prefix, names, shifts })
    }

    /// The error of this statement as one of the original.
    fn restore(&self, error: Error) -> Error {
        let Error::Sql { message, offset, report, .. } = error else { return error };
        // From the last one, since the first number is the beginning of others.
        let numbered = self.names.iter().enumerate().rev();
        let message = numbered.fold(message, |message, (index, name)| {
            message.replace(&format!("{}{index}", self.prefix), name)
        });
        let offset = offset.map(|offset| {
            let before = self.shifts.iter().rfind(|(place, _)| *place <= offset);
            offset.saturating_add_signed(before.map_or(0, |(_, shift)| -shift))
        });
        let (table, column) = place_of_mistake(&message);
        Error::Sql { message, offset, table, column, candidates: Vec::new(), report }
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

fn is_unknown_table(error: &Error) -> bool {
    matches!(error, Error::Sql { message, .. } if message.starts_with("no such table: "))
}

/// The error of a statement, or the reason why the authorizer refused it. A syntax error may follow a refusal: SQLite
/// compiles the beginning of a statement before it reads the rest.
fn refused(error: Error, refusal: Option<Refusal>) -> Error {
    let forbidden = |reason: &str| Error::Forbidden { reason: reason.to_owned() };
    match refusal.filter(|_| matches!(error, Error::Forbidden { .. })) {
        None => error,
        Some(Refusal::Masked { table, column }) => Error::Masked { table, column, argument: None },
        Some(Refusal::Hidden) => forbidden("it reads more than tables and views"),
        Some(Refusal::Schema) => forbidden(
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
