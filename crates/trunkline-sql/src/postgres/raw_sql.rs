//! SQL of callers under rules (`docs/decisions/0011-rules-for-sql.md`).
//!
//! The search path of the statement is empty, so names without a schema are those of common table expressions that this
//! module puts before the statement: one for each visible table, without its masked columns. What remains are names
//! with a schema, the system catalogs, and functions that look up tables. Tokens are sufficient to find these.

use std::collections::HashSet;
use std::ops::Range;

use tokio_postgres::Statement;

use super::catalog;
use super::security::{Token, explain_length, spans};
use super::transaction::Transaction;
use super::visibility::{self, ALLOWED};
use crate::model::error::Error;
use crate::model::schema::Table;
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
    transaction.prepare(&scoped.text).await.map_err(|error| scoped.explain(error))
}

/// A statement with the definitions of the tables that it may read.
struct Scoped {
    text: String,
    /// The place and the length of the definitions.
    inserted: (usize, usize),
    /// The tables that are defined.
    tables: Vec<Table>,
}

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
        check_qualified(transaction, &spans, &found).await?;
        let tables = found.into_iter().filter(|found| found.is_in_search_path);
        Ok(Self::of(sql, &spans, tables.map(|found| found.table).collect()))
    }

    fn of(sql: &str, spans: &[Span], tables: Vec<Table>) -> Self {
        let explained = explain_length(|index| spans.get(index).map(|(token, _)| token));
        let body = spans.get(explained..).unwrap_or_default();
        let first = body.first();
        let is_show = first.is_some_and(|(token, _)| token.is("show"));
        let (Some((token, range)), false, false) = (first, tables.is_empty(), is_show) else {
            return Self { text: sql.to_owned(), inserted: (sql.len(), 0), tables };
        };
        let definitions: Vec<String> = tables.iter().map(definition).collect();
        let definitions = format!("WITH {} ", definitions.join(", "));
        let (head, statement) = sql.split_at(range.start);
        // A statement can have one WITH clause.
        let (definitions, text) = if token.is("with") || *token == Token::Sign('(') {
            let definitions = format!("{definitions}SELECT * FROM (");
            let is_end = |(token, _): &&Span| *token != Token::Sign(';');
            let end = spans.iter().rfind(is_end).map_or(sql.len(), |(_, range)| range.end);
            let statement = &sql[range.start..end];
            let text = format!("{head}{definitions}{statement}\n) AS statement");
            (definitions, text)
        } else {
            let text = format!("{head}{definitions}{statement}");
            (definitions, text)
        };
        Self { text, inserted: (range.start, definitions.len()), tables }
    }

    /// Corrects the place of an error, and names a masked column, which is unknown to the server.
    fn explain(&self, mut error: Error) -> Error {
        let Error::Sql { offset, column, .. } = &mut error else { return error };
        let (start, length) = self.inserted;
        if let Some(place) = offset
            && *place >= start
        {
            *place = place.saturating_sub(length).max(start);
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
}

/// The common table expression of a table, without masked columns.
fn definition(table: &Table) -> String {
    let columns = table.columns.iter().filter(|column| column.mask.is_none());
    let columns: Vec<String> = columns.map(|column| quote(&column.name)).collect();
    let schema = table.schema.as_deref().unwrap_or_default();
    let (name, columns) = (quote(&table.name), columns.join(", "));
    format!("{name} AS NOT MATERIALIZED (SELECT {columns} FROM {}.{name})", quote(schema))
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

/// Refuses functions that look up tables or describe objects: in calls, and in the notation of columns.
async fn check_functions(transaction: &Transaction, spans: &[Span]) -> Result<(), Error> {
    let mut called: Vec<&str> = Vec::new();
    for (index, (token, _)) in spans.iter().enumerate() {
        let is_call = matches!(spans.get(index + 1), Some((Token::Sign('('), _)));
        let is_field = index > 0 && spans[index - 1].0 == Token::Sign('.');
        if let Some(name) = token.name()
            && (is_call || is_field)
            && !ALLOWED.contains(&name)
        {
            called.push(name);
        }
    }
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

/// Refuses names with a schema, unless they are those of visible tables without masked columns.
async fn check_qualified(
    transaction: &Transaction,
    spans: &[Span],
    visible: &[catalog::VisibleTable],
) -> Result<(), Error> {
    let qualified: Vec<&[Span]> =
        spans.windows(3).filter(|three| three[1].0 == Token::Sign('.')).collect();
    if qualified.is_empty() {
        return Ok(());
    }
    let schemas = catalog::schema_names(transaction).await?;
    // The server converts letters to lower case by the rules of its encoding.
    let schemas: HashSet<String> = schemas.iter().map(|name| name.to_lowercase()).collect();
    for three in qualified {
        let [(first, range), _, (second, _)] = three else { continue };
        let Some(schema) = first.name() else { continue };
        if !schemas.contains(&schema.to_lowercase()) {
            continue;
        }
        let Some(name) = second.name() else {
            return Err(refused(schema, "names of schemas without a table are"));
        };
        let is_this = |one: &&catalog::VisibleTable| {
            one.table.schema.as_deref() == Some(schema) && one.table.name == name
        };
        match visible.iter().find(is_this) {
            Some(one) if !one.table.has_masks() => {}
            Some(one) if one.is_in_search_path => {
                let reason = format!(
                    "table {name:?} has masked columns, and can be used in SQL without the name of its schema only"
                );
                return Err(Error::Forbidden { reason });
            }
            Some(_) => {
                let reason = format!(
                    "table \"{schema}.{name}\" has masked columns, and its schema is not in the search path; \
                     use query_records"
                );
                return Err(Error::Forbidden { reason });
            }
            None => return Err(unknown_relation(schema, name, range.start)),
        }
    }
    Ok(())
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
mod tests {
    use super::{Scoped, spans};
    use crate::model::schema::{Column, Dialect, Table, TableKind, Visibility};
    use crate::model::visibility::Mask;

    fn table(name: &str) -> Table {
        let column = |name: &str, mask| Column {
            name: name.to_owned(),
            declared_type: "text".to_owned(),
            not_null: false,
            default: None,
            key_place: 0,
            visibility: Visibility::Normal,
            mask,
        };
        Table {
            dialect: Dialect::Postgres,
            schema: Some("public".to_owned()),
            name: name.to_owned(),
            kind: TableKind::Table,
            without_rowid: true,
            columns: vec![column("a", None), column("b", Some(Mask::Null))],
            unreadable_columns: Vec::new(),
            unique_key: Vec::new(),
            constraints: Vec::new(),
        }
    }

    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let scoped = Scoped::of(sql, &spans(sql).unwrap(), vec![table("t")]);
        let definition = r#"WITH "t" AS NOT MATERIALIZED (SELECT "a" FROM "public"."t") "#;
        assert_eq!(scoped.text, expected.replace("#", definition), "{sql}");
    }

    #[test]
    fn definitions_are_put_before_the_statement() {
        check("SELECT * FROM t;", "#SELECT * FROM t;");
        check("/* c */ TABLE t -- x", "/* c */ #TABLE t -- x");
        check("EXPLAIN SELECT 1", "EXPLAIN #SELECT 1");
        check(
            "EXPLAIN (ANALYZE, FORMAT JSON) VALUES (1)",
            "EXPLAIN (ANALYZE, FORMAT JSON) #VALUES (1)",
        );
        check("explain analyze verbose select 1", "explain analyze verbose #select 1");
        check(
            "WITH t AS (SELECT 1) TABLE t ; ",
            "#SELECT * FROM (WITH t AS (SELECT 1) TABLE t\n) AS statement",
        );
        check("EXPLAIN (SELECT 1)", "EXPLAIN #SELECT * FROM ((SELECT 1)\n) AS statement");
        check("SHOW search_path", "SHOW search_path");
    }
}
