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
    edits: Vec<Edit>,
    /// The tables that are defined.
    tables: Vec<Table>,
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
        let qualified = qualified(transaction, &spans, &found).await?;
        Self::of(sql, &spans, found, qualified)
    }

    /// `qualified` are the names with a schema of tables with masked columns.
    fn of(
        sql: &str,
        spans: &[Span],
        found: Vec<catalog::VisibleTable>,
        qualified: Vec<Edit>,
    ) -> Result<Self, Error> {
        let mut definitions = Vec::new();
        let mut tables = Vec::new();
        for catalog::VisibleTable { table, is_in_search_path } in found {
            if is_in_search_path {
                definitions.push(definition(&table.name, &table));
            }
            if table.has_masks() && !qualified.is_empty() {
                definitions.push(definition(&qualified_name(&table), &table));
            }
            tables.push(table);
        }
        let explained = explain_length(|index| spans.get(index).map(|(token, _)| token));
        let body = spans.get(explained..).unwrap_or_default();
        let first = body.first();
        let is_show = first.is_some_and(|(token, _)| token.is("show"));
        let (Some((token, range)), false, false) = (first, definitions.is_empty(), is_show) else {
            return Ok(Self { text: sql.to_owned(), edits: Vec::new(), tables });
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
        Ok(Self { text, edits, tables })
    }

    /// Corrects the place of an error, and names a masked column, which is unknown to the server.
    fn explain(&self, mut error: Error) -> Error {
        let Error::Sql { offset, column, .. } = &mut error else { return error };
        if let Some(place) = offset {
            *place = self.original(*place);
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

    /// The place in the statement of the caller.
    fn original(&self, place: usize) -> usize {
        // The difference of the texts before the place.
        let (mut added, mut removed) = (0, 0);
        for (range, replacement) in &self.edits {
            let start = range.start + added - removed;
            if place < start {
                break;
            }
            if place < start + replacement.len() {
                return range.start;
            }
            added += replacement.len();
            removed += range.len();
        }
        place + removed - added
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

/// The name of the common table expression of a table that is named with its schema.
fn qualified_name(table: &Table) -> String {
    format!("{}.{}", table.schema.as_deref().unwrap_or_default(), table.name)
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

/// The names with a schema of visible tables with masked columns, and the names of their common table expressions.
///
/// # Errors
///
/// A name with a schema is not that of a visible table.
async fn qualified(
    transaction: &Transaction,
    spans: &[Span],
    visible: &[catalog::VisibleTable],
) -> Result<Vec<Edit>, Error> {
    if !spans.iter().any(|(token, _)| *token == Token::Sign('.')) {
        return Ok(Vec::new());
    }
    let schemas = catalog::schema_names(transaction).await?;
    // The server converts letters to lower case by the rules of its encoding.
    let schemas: HashSet<String> = schemas.iter().map(|name| name.to_lowercase()).collect();
    let mut edits = Vec::new();
    for (index, three) in spans.windows(3).enumerate() {
        let [(first, range), (Token::Sign('.'), _), (second, end)] = three else { continue };
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
        let Some(one) = visible.iter().find(is_this) else {
            return Err(unknown_relation(schema, name, range.start));
        };
        if one.table.has_masks() {
            let expression = expression_in_place(&one.table, spans, index)?;
            edits.push((range.start..end.end, expression));
        }
    }
    Ok(edits)
}

/// The text in the place of the name of a table with its schema, which begins at a token.
fn expression_in_place(table: &Table, spans: &[Span], index: usize) -> Result<String, Error> {
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
    /// PostgreSQL truncates longer names.
    const MAX_NAME: usize = 63;
    let expression = qualified_name(table);
    if expression.len() > MAX_NAME {
        let reason = format!(
            "table \"{expression}\" has masked columns, and this name has more than {MAX_NAME} bytes; use query_records"
        );
        return Err(Error::Forbidden { reason });
    }
    let (name, expression) = (quote(&table.name), quote(&expression));
    let token = |index: usize| spans.get(index).map(|(token, _)| token);
    Ok(match token(index + 3) {
        // A column of the table.
        Some(Token::Sign('.')) => name,
        Some(Token::Quoted(_)) => expression,
        Some(Token::Word(word)) if !AFTER_TABLE.contains(&word.as_str()) => expression,
        _ if index > 0 && token(index - 1).is_some_and(|token| token.is("table")) => expression,
        _ => format!("{expression} AS {name}"),
    })
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
mod tests {
    use super::{Scoped, expression_in_place, spans};
    use crate::model::schema::{Column, Dialect, Table, TableKind, Visibility};
    use crate::model::visibility::Mask;
    use crate::postgres::catalog::VisibleTable;

    fn table(name: &str) -> Table {
        let column = |name: &str, mask| Column {
            name: name.to_owned(),
            declared_type: "text".to_owned(),
            base_type: None,
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
        let found = VisibleTable { table: table("t"), is_in_search_path: true };
        let scoped = Scoped::of(sql, &spans(sql).unwrap(), vec![found], Vec::new()).unwrap();
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

    #[test]
    fn names_in_other_places_are_refused() {
        for (sql, index) in [("EXPLAIN (public.t.a) SELECT zz", 2), ("SELECT public.public.t", 1)] {
            let spans = spans(sql).unwrap();
            let edit = |index: usize| {
                (spans[index].1.start..spans[index + 2].1.end, "\"public.t\"".to_owned())
            };
            let found = VisibleTable { table: table("t"), is_in_search_path: true };
            let outcome = Scoped::of(sql, &spans, vec![found], vec![edit(index), edit(index + 2)]);
            assert!(outcome.is_err(), "{sql}");
        }
    }

    /// The name with a schema at the token with this index, which is in the new text in its place.
    #[track_caller]
    fn check_qualified(sql: &str, index: usize, expected: &str) {
        let spans = spans(sql).unwrap();
        let edit = expression_in_place(&table("t"), &spans, index).unwrap();
        let edits = vec![(spans[index].1.start..spans[index + 2].1.end, edit)];
        let found = VisibleTable { table: table("t"), is_in_search_path: false };
        let scoped = Scoped::of(sql, &spans, vec![found], edits).unwrap();
        let definition = r#"WITH "public.t" AS NOT MATERIALIZED (SELECT "a" FROM "public"."t") "#;
        assert_eq!(scoped.text, expected.replace("#", definition), "{sql}");
        let (place, last) = (scoped.text.find("zz").unwrap(), scoped.text.rfind("zz").unwrap());
        assert_eq!(scoped.original(place), sql.find("zz").unwrap(), "{sql}");
        assert_eq!(scoped.original(last), sql.rfind("zz").unwrap(), "{sql}");
    }

    #[test]
    fn names_with_a_schema_are_those_of_definitions() {
        check_qualified("SELECT zz FROM public.t", 3, r#"#SELECT zz FROM "public.t" AS "t""#);
        check_qualified("SELECT zz FROM public . t x", 3, r#"#SELECT zz FROM "public.t" x"#);
        check_qualified("SELECT zz FROM public.t AS x", 3, r#"#SELECT zz FROM "public.t" AS x"#);
        check_qualified(
            "SELECT zz FROM public.t WHERE zz > 1",
            3,
            r#"#SELECT zz FROM "public.t" AS "t" WHERE zz > 1"#,
        );
        check_qualified("SELECT zz FROM public.t, u", 3, r#"#SELECT zz FROM "public.t" AS "t", u"#);
        check_qualified(
            "SELECT zz FROM (TABLE public.t)",
            5,
            r#"#SELECT zz FROM (TABLE "public.t")"#,
        );
        check_qualified(
            "SELECT zz, public.t.a FROM public.t",
            3,
            r#"#SELECT zz, "t".a FROM public.t"#,
        );
    }
}
