use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::cursor::{self, Fingerprint};
use crate::error::Error;
use crate::identifier::quote;
use crate::schema::TableKind;
use crate::session::Session;

/// Asks for the tables and views, in the order of their names.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ListTables {
    /// A pattern of SQL's `LIKE` that names must match: `%` is any text, `_` any character.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Only this kind.
    #[serde(default)]
    pub kind: Option<TableKind>,
    /// The `next_cursor` of an earlier reply to the same request.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// One page of tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableList {
    /// At most 200 tables. SQLite's own, and those in which virtual tables keep their content, are left
    /// out.
    pub tables: Vec<TableSummary>,
    /// Where the list goes on, if it does. Opaque.
    pub next_cursor: Option<String>,
}

/// A table in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableSummary {
    /// As the schema spells it.
    pub name: String,
    /// What it is.
    pub kind: TableKind,
    /// How many columns it has.
    pub columns: u32,
    /// About how many rows it has: from the last `ANALYZE`, or from the span of its row numbers. None if
    /// only counting them would tell.
    pub row_estimate: Option<u64>,
}

const TABLES_PER_PAGE: usize = 200;

pub(crate) fn list_tables(
    session: &mut Session<'_>,
    request: &ListTables,
) -> Result<TableList, Error> {
    let pattern = request.pattern.as_deref().unwrap_or("%");
    let kind = match request.kind {
        None => "%",
        Some(TableKind::Table) => "table",
        Some(TableKind::View) => "view",
        Some(TableKind::Virtual) => "virtual",
    };
    let fingerprint = Fingerprint::of(&["list_tables", pattern, kind]);
    let after = match &request.cursor {
        Some(cursor) => cursor::decode(fingerprint, cursor)?,
        None => String::new(),
    };

    let found = session.rows(
        "SELECT list.name, list.type, \
         CASE list.type WHEN 'virtual' THEN (SELECT count(*) FROM pragma_table_info(list.name)) \
         ELSE list.ncol END, list.wr FROM pragma_table_list AS list \
         WHERE schema = 'main' AND list.type <> 'shadow' AND list.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
         AND list.name > ?1 AND list.name LIKE ?2 AND list.type LIKE ?3 ORDER BY list.name",
        &[&after, pattern, kind],
        |row| {
            let kind = TableKind::from_sqlite(&row.get::<_, String>(1)?);
            let without_rowid: bool = row.get(3)?;
            let summary =
                TableSummary { name: row.get(0)?, kind, columns: row.get(2)?, row_estimate: None };
            Ok((summary, kind == TableKind::Table && !without_rowid))
        },
    )?;

    let is_last_page = found.len() <= TABLES_PER_PAGE;
    let analyzed = analyzed_rows(session)?;
    let mut tables = Vec::with_capacity(found.len().min(TABLES_PER_PAGE));
    for (mut table, has_rowid) in found.into_iter().take(TABLES_PER_PAGE) {
        table.row_estimate = match analyzed.get(&table.name) {
            Some(rows) => Some(*rows),
            None if has_rowid => rowid_span(session, &table.name)?,
            None => None,
        };
        tables.push(table);
    }
    let next_cursor = match tables.last() {
        Some(last) if !is_last_page => Some(cursor::encode(fingerprint, &last.name)),
        _ => None,
    };
    Ok(TableList { tables, next_cursor })
}

/// The counts that `ANALYZE` left, by table. The first word of `stat` is the count.
fn analyzed_rows(session: &mut Session<'_>) -> Result<HashMap<String, u64>, Error> {
    let exists =
        session.rows("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'", &[], |_| Ok(()))?;
    if exists.is_empty() {
        return Ok(HashMap::new());
    }
    let counts = session.rows(
        "SELECT tbl, max(CAST(stat AS INTEGER)) FROM sqlite_stat1 GROUP BY tbl",
        &[],
        |row| {
            let rows: i64 = row.get(1)?;
            Ok((row.get(0)?, rows.unsigned_abs()))
        },
    )?;
    Ok(counts.into_iter().collect())
}

fn rowid_span(session: &mut Session<'_>, table: &str) -> Result<Option<u64>, Error> {
    // Two subqueries, since SQLite answers each from one end of the table, and both in one from a scan.
    let name = quote(table);
    let sql = format!("SELECT (SELECT max(rowid) FROM {name}), (SELECT min(rowid) FROM {name})");
    let spans = session.rows(&sql, &[], |row| {
        // A column named rowid may hold anything.
        let ends = (row.get::<_, i64>(0), row.get::<_, i64>(1));
        Ok(match ends {
            (Ok(last), Ok(first)) => Some(last.abs_diff(first).saturating_add(1)),
            _ => Some(0),
        })
    })?;
    Ok(spans.into_iter().next().flatten())
}
