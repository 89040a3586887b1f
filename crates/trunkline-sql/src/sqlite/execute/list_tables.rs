use std::collections::HashMap;

use crate::model::cursor::{self, Fingerprint};
use crate::model::describe::{ListTables, TableList, TableSummary};
use crate::model::error::{Error, ErrorClass};
use crate::model::schema::{Table, TableKind};
use crate::query::identifier::quote;
use crate::sqlite::schema;
use crate::sqlite::session::Session;
use crate::sqlite::value;

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
        Some(TableKind::MaterializedView | TableKind::Partitioned | TableKind::Foreign) => "",
    };
    let fingerprint = Fingerprint::of(&["list_tables", pattern, kind]);
    let after = match &request.cursor {
        Some(cursor) => cursor::decode(fingerprint, cursor)?,
        None => String::new(),
    };

    let named = session.rows(
        "SELECT list.name, list.type, list.wr FROM pragma_table_list AS list \
         WHERE schema = 'main' AND list.type <> 'shadow' AND list.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
         AND list.name LIKE ?1 AND list.type LIKE ?2",
        &[pattern, kind],
        |row| {
            let (kind, without_rowid): (String, bool) = (row.get(1)?, row.get(2)?);
            Ok(value::name(row, 0)?.map(|name| (name, kind, without_rowid)))
        },
    )?;
    schema::scope(session)?;
    let mut found = Vec::new();
    let mut unreadable = Vec::new();
    for table in named {
        match table {
            Ok(table) if table.0 > after && session.shows(&table.0, &table.1) => found.push(table),
            Err(shown) if session.config().rules.is_empty() => unreadable.push(shown),
            Ok(_) | Err(_) => {}
        }
    }
    found.sort_unstable();
    unreadable.sort_unstable();
    unreadable.truncate(TABLES_PER_PAGE);

    let is_last_page = found.len() <= TABLES_PER_PAGE;
    let analyzed = analyzed_rows(session)?;
    let mut tables = Vec::with_capacity(found.len().min(TABLES_PER_PAGE));
    for (name, kind, without_rowid) in found.into_iter().take(TABLES_PER_PAGE) {
        let kind = schema::kind_of(&kind);
        let table = openable(schema::load(session, name.clone(), kind, without_rowid))?;
        let row_estimate = match (analyzed.get(&name), &table) {
            (Some(rows), _) => Some(*rows),
            // The span of a masked key would reveal its values.
            (None, Some(table)) if !table.is_key_masked() => {
                row_number_span(session, table).or_else(schema::unless_interrupted)?
            }
            (None, _) => None,
        };
        let columns = table.map(|table| table.visible_columns().count());
        tables.push(TableSummary { name, kind, columns, row_estimate, description: None });
    }
    let next_cursor = match tables.last() {
        Some(last) if !is_last_page => Some(cursor::encode(fingerprint, &last.name)),
        _ => None,
    };
    Ok(TableList { tables, unreadable, next_cursor })
}

/// The table, or none if SQLite cannot open it. One such table must not prevent a list.
pub(super) fn openable(loaded: Result<Table, Error>) -> Result<Option<Table>, Error> {
    match loaded {
        Ok(table) => Ok(Some(table)),
        Err(error) => match error.class() {
            ErrorClass::Request | ErrorClass::Forbidden => Ok(None),
            _ => Err(error),
        },
    }
}

/// The counts of the last `ANALYZE`, by table. The first word of `stat` is the count.
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
            Ok(value::name(row, 0)?.map(|table| (table, rows.unsigned_abs())))
        },
    )?;
    Ok(counts.into_iter().flatten().collect())
}

fn row_number_span(session: &mut Session<'_>, table: &Table) -> Result<Option<u64>, Error> {
    let Some(number) = table.row_number() else {
        return Ok(None);
    };
    // Two subqueries, which SQLite answers from the ends of the table. A combined one would scan it.
    let (table, number) = (quote(&table.name), quote(number));
    let sql =
        format!("SELECT (SELECT max({number}) FROM {table}), (SELECT min({number}) FROM {table})");
    let spans = session.rows(&sql, &[], |row| {
        let ends: (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
        Ok(match ends {
            (Some(last), Some(first)) => last.abs_diff(first).saturating_add(1),
            _ => 0,
        })
    })?;
    Ok(spans.into_iter().next())
}
