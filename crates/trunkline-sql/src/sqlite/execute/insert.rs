use std::time::Instant;

use rusqlite::Statement;

use crate::model::change::{InsertRecord, Inserted, OnConflict};
use crate::model::error::Error;
use crate::model::rowset::{Bounds, RowNumber};
use crate::model::schema::{Table, TableKind};
use crate::query::change::{self, Record};
use crate::query::identifier::quote;
use crate::sqlite::collect::Collector;
use crate::sqlite::row_limit::{RowLimit, direct_rows};
use crate::sqlite::session::Session;
use crate::sqlite::value;

pub(crate) fn insert_record(
    session: &mut Session<'_>,
    request: &InsertRecord,
) -> Result<Inserted, Error> {
    let started = Instant::now();
    change::check_count(request.records().len(), session.config().limits.max_records)?;
    let table = session.table(&request.table_name)?;
    let inserted = match request.on_conflict {
        Some(OnConflict::Replace) => replace(session, request, &table, started),
        _ => insert(session, request, &table, started),
    };
    let rules = &session.config().rules;
    inserted.map_err(|error| {
        change::without_other_tables(error, rules, &table.name).on_table(&table.name)
    })
}

fn insert(
    session: &mut Session<'_>,
    request: &InsertRecord,
    table: &Table,
    started: Instant,
) -> Result<Inserted, Error> {
    let count = request.records().len() as u64;
    let limit = RowLimit::begin(session, request.max_affected, count)?;
    let inserted = insert_all(session, request, table, &limit, started)?;
    limit.check(limit.further_rows(session, inserted.rows_affected)?)?;
    Ok(inserted)
}

/// SQLite does not count replaced rows, so they are computed from two counts of all rows. That is slow in a large
/// table, so it is skipped if the maximum possible number is within the limit.
fn replace(
    session: &mut Session<'_>,
    request: &InsertRecord,
    table: &Table,
    started: Instant,
) -> Result<Inserted, Error> {
    if table.kind == TableKind::Virtual {
        return Err(Error::argument(
            "on_conflict",
            "`replace` is not supported for virtual tables; delete the old rows first",
        ));
    }
    let count = request.records().len() as u64;
    session.set_savepoint()?;
    let limit = RowLimit::begin(session, request.max_affected, count)?;
    let inserted = insert_all(session, request, table, &limit, started)?;
    let further = limit.further_rows(session, inserted.rows_affected)?;
    // Each record replaces at most one row for each key.
    let most = count * unique_keys(session, table)?;
    if limit.check(further + most).is_ok() {
        return Ok(inserted);
    }
    let growth = match (session.writer_state(), table.without_rowid) {
        (Some(writer_state), false) => writer_state.growth(&table.name),
        _ => inserted.rows_affected as i64,
    };
    let after = row_count(session, table)?;
    session.roll_back_to_savepoint()?;
    let replaced = row_count(session, table)? + growth - after;
    limit.check(further + u64::try_from(replaced).unwrap_or_default())?;
    let limit = RowLimit::begin(session, request.max_affected, count)?;
    insert_all(session, request, table, &limit, started)
}

fn unique_keys(session: &mut Session<'_>, table: &Table) -> Result<u64, Error> {
    let sql = "SELECT name FROM pragma_index_list(?1) WHERE \"unique\"";
    let indexes = session.rows(sql, &[&table.name], |_| Ok(()))?;
    // The row number is a key without an index.
    Ok(indexes.len() as u64 + 1)
}

fn row_count(session: &mut Session<'_>, table: &Table) -> Result<i64, Error> {
    let sql = format!("SELECT count(*) FROM {}", quote(&table.name));
    let counts = session.rows(&sql, &[], |row| row.get(0))?;
    Ok(counts.first().copied().unwrap_or_default())
}

fn insert_all(
    session: &Session<'_>,
    request: &InsertRecord,
    table: &Table,
    limit: &RowLimit,
    started: Instant,
) -> Result<Inserted, Error> {
    let returning = change::returning(table, request.returning.as_ref())?;
    let config = session.config();
    let bounds = Bounds { max_rows: config.limits.max_rows, max_bytes: config.limits.max_bytes };
    let mut rows = Collector::new(bounds, started);
    let mut rows_affected = 0;
    let mut id = None;
    let mut compiled: Option<(Vec<&str>, Statement<'_>)> = None;
    for data in request.records() {
        let record = Record::read(table, data)?;
        // Compiled in each call, since the authorizer records the tables that it may change.
        let statement = match compiled.take() {
            Some((columns, statement)) if columns == record.columns => statement,
            _ => {
                let sql = change::insert(
                    table,
                    &record.columns,
                    request.on_conflict.unwrap_or_default(),
                )?;
                let sql = sql + returning.as_deref().unwrap_or_default();
                session.prepare(&sql)?
            }
        };
        let (_, statement) = compiled.insert((record.columns, statement));
        let connection = session.connection();
        let before = connection.total_changes();
        value::bind(statement, &record.values)?;
        rows.take(statement).map_err(|error| limit.explain(session, error))?;
        let inserted = direct_rows(session, before);
        if inserted > 0 {
            rows_affected += inserted;
            id = has_row_numbers(table).then(|| RowNumber(connection.last_insert_rowid()));
        }
    }
    let rows = match returning {
        Some(_) => Some(rows.finish()?.with_hint(|_| {
            "all records were inserted; use query_records for the other rows".to_owned()
        })),
        None => None,
    };
    Ok(Inserted { rows_affected, id, rows })
}

/// Whether inserted rows have row numbers that callers may see. Those of virtual tables are chosen by their module.
fn has_row_numbers(table: &Table) -> bool {
    table.kind != TableKind::View && !table.without_rowid && !table.is_key_masked()
}
