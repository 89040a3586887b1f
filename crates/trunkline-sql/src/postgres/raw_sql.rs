//! SQL of callers under rules (`docs/decisions/0011-rules-for-sql.md`).
//!
//! The search path of the statement is empty, so names without a schema are those of common table expressions that this
//! module puts before the statement: one for each visible table, without its masked columns. What remains are names
//! with a schema, the system catalogs, and functions that look up tables. Tokens are sufficient to find these.

use std::collections::HashSet;
use std::ops::Range;

use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;

use super::catalog;
use super::security::{Token, called_names, explain_length, spans};
use super::transaction::Transaction;
use super::visibility::{self, ALLOWED};
use crate::model::error::Error;
use crate::model::schema::Table;
use crate::model::table_name;
use crate::query::identifier::quote;

/// Types whose input looks up a name.
const LOOKUP_TYPES: [&str; 11] = [
    "aclitem",
    "oidvector",
    "regclass",
    "regcollation",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
];

/// Compiles a statement of a caller, which reads. Under rules, only visible tables and columns exist for it.
pub(super) async fn prepare(transaction: &mut Transaction, sql: &str) -> Result<Statement, Error> {
    if transaction.rules().is_empty() {
        return transaction.begin_and_prepare(sql).await;
    }
    transaction.begun().await?;
    let scoped = Scoped::new(transaction, sql).await?;
    transaction.clear_search_path().await?;
    let prepared = transaction.prepare(&scoped.text).await.map_err(|error| scoped.explain(error));
    transaction.replace_in_errors(scoped.internal_names);
    prepared
}

/// A statement with the definitions of the tables that it may read.
struct Scoped {
    text: String,
    edits: Vec<Edit>,
    /// The tables that are defined.
    tables: Vec<Table>,
    /// The names of the expressions of tables that are named with their schema, and the names of these tables.
    internal_names: Vec<(String, String)>,
}

/// A part of the statement of the caller, and the text in its place. In the order of the statement.
type Edit = (Range<usize>, String);

type Span = (Token, Range<usize>);

impl Scoped {
    async fn new(transaction: &Transaction, sql: &str) -> Result<Self, Error> {
        let spans = spans(sql)?;
        check_tokens(&spans)?;
        check_functions(transaction, &spans).await?;
        let mut names: Vec<&str> = spans.iter().filter_map(|(token, _)| token.name()).collect();
        names.sort_unstable();
        names.dedup();
        let found = catalog::visible_tables(transaction, &names).await?;
        check_only(&spans, &found)?;
        let key = random_key()?;
        let qualified = qualified(transaction, &spans, &found, &key).await?;
        Self::of(sql, &spans, found, qualified, &key)
    }

    /// `qualified` are the names with a schema of tables with masked columns, and `key` a part of the names of their
    /// expressions.
    fn of(
        sql: &str,
        spans: &[Span],
        found: Vec<catalog::VisibleTable>,
        qualified: Vec<Edit>,
        key: &str,
    ) -> Result<Self, Error> {
        let mut definitions = Vec::new();
        let mut tables = Vec::new();
        let mut internal_names = Vec::new();
        for (index, catalog::VisibleTable { table, is_in_search_path }) in
            found.into_iter().enumerate()
        {
            if is_in_search_path {
                definitions.push(definition(&table.name, &table));
            }
            if table.has_masks() && !qualified.is_empty() {
                let name = expression_name(key, index);
                definitions.push(definition(&name, &table));
                let shown = table_name::listed(table.schema.as_deref(), &table.name);
                internal_names.push((name, shown));
            }
            tables.push(table);
        }
        let explained = explain_length(|index| spans.get(index).map(|(token, _)| token));
        let body = spans.get(explained..).unwrap_or_default();
        let first = body.first();
        let is_show = first.is_some_and(|(token, _)| token.is("show"));
        let (Some((token, range)), false, false) = (first, definitions.is_empty(), is_show) else {
            let edits = Vec::new();
            return Ok(Self { text: sql.to_owned(), edits, tables, internal_names });
        };
        let definitions = format!("WITH {} ", definitions.join(", "));
        // A statement can have one WITH clause.
        let is_wrapped = token.is("with") || *token == Token::Sign('(');
        let wrapper = if is_wrapped { "SELECT * FROM (" } else { "" };
        let mut edits = vec![(range.start..range.start, format!("{definitions}{wrapper}"))];
        edits.extend(qualified);
        if is_wrapped {
            let is_end = |(token, _): &&Span| *token != Token::Sign(';');
            let end = spans.iter().rfind(is_end).map_or(sql.len(), |(_, range)| range.end);
            edits.push((end..sql.len(), "\n) AS statement".to_owned()));
        }
        let (mut text, mut end) = (String::with_capacity(2 * sql.len()), 0);
        for (range, replacement) in &edits {
            // The names of two tables overlap, or one is an option of `EXPLAIN`.
            let before = sql
                .get(end..range.start)
                .ok_or_else(|| refused(&sql[range.clone()], "names of tables in this place are"))?;
            text.push_str(before);
            text.push_str(replacement);
            end = range.end;
        }
        text.push_str(&sql[end..]);
        Ok(Self { text, edits, tables, internal_names })
    }

    /// Corrects the place of an error, adds remedies for what expressions do not support, and names a masked column,
    /// which is unknown to the server.
    fn explain(&self, mut error: Error) -> Error {
        let Error::Sql { message, offset, column, report, .. } = &mut error else { return error };
        let mut replaced = None;
        if let Some(place) = offset {
            (*place, replaced) = self.original(*place);
        }
        let sqlstate = report.as_ref().map(|report| report.sqlstate.as_str());
        let is = |state: SqlState| sqlstate == Some(state.code());
        if let Some(name) = replaced
            && (is(SqlState::SYNTAX_ERROR) || is(SqlState::UNDEFINED_COLUMN))
        {
            if is(SqlState::SYNTAX_ERROR) {
                // The server names a word of the replacement.
                *message = format!("syntax error at or near {name:?}");
            }
            message.push_str(
                "; the name of a table with masked columns cannot be part of an expression",
            );
        } else if is(SqlState::DUPLICATE_ALIAS) && !self.internal_names.is_empty() {
            message.push_str("; give tables of the same name aliases: FROM a.t AS x, b.t AS y");
        } else if is(SqlState::FEATURE_NOT_SUPPORTED) && message.contains("TABLESAMPLE") {
            message.push_str(
                "; name the table with its schema, or use WHERE random() < 0.1 if it has masked columns",
            );
        }
        let Some(name) = column else { return error };
        let is_masked = |table: &&Table| {
            table.columns.iter().any(|one| one.mask.is_some() && one.name == *name)
        };
        match self.tables.iter().find(is_masked) {
            Some(table) => {
                Error::Masked { table: table.name.clone(), column: name.clone(), argument: None }
            }
            None => error,
        }
    }

    /// The place in the statement of the caller, and the name of the table with a schema that was replaced there.
    fn original(&self, place: usize) -> (usize, Option<&str>) {
        // The difference of the texts before the place.
        let (mut added, mut removed) = (0, 0);
        for (range, replacement) in &self.edits {
            let start = range.start + added - removed;
            if place < start {
                break;
            }
            if place < start + replacement.len() {
                let is_replaced = |(internal, _): &&(String, String)| {
                    !range.is_empty() && replacement.contains(internal.as_str())
                };
                let name = self.internal_names.iter().find(is_replaced);
                return (range.start, name.map(|(_, name)| name.as_str()));
            }
            added += replacement.len();
            removed += range.len();
        }
        (place + removed - added, None)
    }
}

/// The common table expression of a table, without masked columns.
fn definition(name: &str, table: &Table) -> String {
    let columns = table.columns.iter().filter(|column| column.mask.is_none());
    let columns: Vec<String> = columns.map(|column| quote(&column.name)).collect();
    let schema = table.schema.as_deref().unwrap_or_default();
    let source = format!("{}.{}", quote(schema), quote(&table.name));
    let (name, columns) = (quote(name), columns.join(", "));
    format!("{name} AS NOT MATERIALIZED (SELECT {columns} FROM {source})")
}

/// The name of the common table expression of a table that is named with its schema. The statement cannot contain it.
fn expression_name(key: &str, index: usize) -> String {
    format!("table_{index}_{key}")
}

/// A text that no statement contains.
fn random_key() -> Result<String, Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Error::Failure(error.into()))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(random)))
}

/// Refuses the names of system catalogs, of functions that describe objects, and of types that look up names.
fn check_tokens(spans: &[Span]) -> Result<(), Error> {
    for (token, _) in spans {
        let Some(name) = token.name() else { continue };
        // The name of an array type begins with an underscore.
        let bare = name.trim_start_matches('_');
        if bare.starts_with("pg_") && !ALLOWED.contains(&name) {
            return Err(refused(name, "names of the system catalogs are"));
        }
        if LOOKUP_TYPES.contains(&bare) {
            return Err(refused(name, "types that look up names are"));
        }
    }
    Ok(())
}

/// Refuses calls of functions that look up tables or describe objects, in each notation.
async fn check_functions(transaction: &Transaction, spans: &[Span]) -> Result<(), Error> {
    let tokens = spans.iter().map(|(token, _)| token);
    let called = called_names(tokens).into_iter().map(|called| called.name);
    let mut called: Vec<&str> = called.filter(|name| !ALLOWED.contains(name)).collect();
    if called.is_empty() {
        return Ok(());
    }
    called.sort_unstable();
    called.dedup();
    match visibility::lookup_functions(transaction, &called).await?.first() {
        Some(name) => Err(refused(name, "functions that look up objects are")),
        None => Ok(()),
    }
}

/// Refuses `ONLY` before a name that is that of a common table expression, which has the rows of child tables.
fn check_only(spans: &[Span], visible: &[catalog::VisibleTable]) -> Result<(), Error> {
    for (index, (token, _)) in spans.iter().enumerate() {
        if !token.is("only") {
            continue;
        }
        let mut rest = spans[index + 1..].iter().map(|(token, _)| token);
        let next = rest.find(|token| **token != Token::Sign('('));
        let name = next.and_then(Token::name).unwrap_or_default();
        let is_this = |one: &catalog::VisibleTable| {
            one.table.name == name || one.table.schema.as_deref() == Some(name)
        };
        if visible.iter().any(is_this) {
            return Err(refused(name, "`ONLY` and a name of a table are"));
        }
    }
    Ok(())
}

/// The names with a schema of visible tables with masked columns, and the names of their common table expressions.
///
/// # Errors
///
/// A name with a schema is not that of a visible table, or that of a table with masked columns in a place where it
/// could mean something else.
async fn qualified(
    transaction: &Transaction,
    spans: &[Span],
    visible: &[catalog::VisibleTable],
    key: &str,
) -> Result<Vec<Edit>, Error> {
    if !spans.iter().any(|(token, _)| *token == Token::Sign('.')) {
        return Ok(Vec::new());
    }
    let schemas = catalog::schema_names(transaction).await?;
    let schemas: HashSet<String> = schemas.iter().map(|name| folded(name)).collect();
    let mut edits = Vec::new();
    for (index, three) in spans.windows(3).enumerate() {
        let [(first, range), (Token::Sign('.'), _), (second, _)] = three else { continue };
        let Some(schema) = first.name() else { continue };
        if !schemas.contains(&folded(schema)) {
            continue;
        }
        let Some(name) = second.name() else {
            return Err(refused(schema, "names of schemas without a table are"));
        };
        let is_this = |one: &catalog::VisibleTable| {
            one.table.schema.as_deref() == Some(schema) && one.table.name == name
        };
        let Some(found) = visible.iter().position(is_this) else {
            return Err(unknown_relation(schema, name, range.start));
        };
        // A function can have the name of a table.
        if matches!(spans.get(index + 3), Some((Token::Sign('('), _))) {
            let name = format!("{schema}.{name}");
            return Err(refused(&name, "functions that are not part of PostgreSQL are"));
        }
        let table = &visible[found].table;
        if table.has_masks() {
            let edit = in_place_of(table, &expression_name(key, found), spans, index);
            edits.push(edit.ok_or_else(|| {
                let name = format!("{schema}.{name}");
                let reason = format!(
                    "table {name:?} has masked columns, so its name with the schema can only follow FROM, JOIN, TABLE \
                     or a comma, and not ONLY; name its columns by an alias, or by the name of the table"
                );
                Error::Forbidden { reason }
            })?);
        }
    }
    Ok(edits)
}

/// A name in lower case, by single letters: the server converts them by the rules of its encoding.
fn folded(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// The replacement of the name of a table with its schema, which begins at a token: the name of its expression, and the
/// name of the table as the alias if none follows. `None` in a place where the name may not be that of a table.
///
/// In these places, a name is that of a table, or else an expression, in which the replacement is an unknown name.
fn in_place_of(table: &Table, expression: &str, spans: &[Span], index: usize) -> Option<Edit> {
    /// The words that can follow a table and are not its alias.
    const AFTER_TABLE: [&str; 22] = [
        "cross",
        "except",
        "fetch",
        "for",
        "full",
        "group",
        "having",
        "inner",
        "intersect",
        "join",
        "left",
        "limit",
        "natural",
        "offset",
        "on",
        "order",
        "right",
        "tablesample",
        "union",
        "using",
        "where",
        "window",
    ];
    let token = |index: usize| spans.get(index).map(|(token, _)| token);
    let before = token(index.checked_sub(1)?)?;
    // `TABLE t` is `SELECT * FROM t`, which can have an alias.
    let is_command = before.is("table");
    if !is_command
        && !["from", "join"].iter().any(|word| before.is(word))
        && *before != Token::Sign(',')
    {
        return None;
    }
    let (_, dot) = spans.get(index + 1)?;
    if dot.len() != 1 {
        return None;
    }
    let has_alias = match token(index + 3) {
        None | Some(Token::Sign(')' | ',' | ';')) => false,
        Some(Token::Quoted(_)) => true,
        Some(Token::Word(word)) => !AFTER_TABLE.contains(&word.as_str()),
        Some(Token::Sign(_) | Token::Value) => return None,
    };
    let alias = match has_alias && !is_command {
        true => String::new(),
        false => format!(" AS {}", quote(&table.name)),
    };
    let (first, command) = if is_command { (index - 1, "SELECT * FROM ") } else { (index, "") };
    let range = spans.get(first)?.1.start..spans.get(index + 2)?.1.end;
    // With spaces, so that it does not become a part of another token.
    Some((range, format!(" {command}{}{alias} ", quote(expression))))
}

/// The error of the server for an unknown table.
fn unknown_relation(schema: &str, name: &str, offset: usize) -> Error {
    let name = format!("{schema}.{name}");
    Error::Sql {
        message: format!("relation \"{name}\" does not exist"),
        offset: Some(offset),
        table: Some(name),
        column: None,
        candidates: Vec::new(),
        report: None,
    }
}

fn refused(name: &str, what: &str) -> Error {
    let reason = format!(
        "{name:?} is not allowed: rules hide or mask tables of this database, so {what} refused; use \
         list_tables, describe_table and search_schema to read the schema"
    );
    Error::Forbidden { reason }
}

#[cfg(test)]
mod tests;
