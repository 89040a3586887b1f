use std::time::Instant;

use serde_json::Value as Json;

use crate::model::error::Error;
use crate::model::profile::{ColumnProfile, EXAMPLES, MAX_TEXT, ProfileTable, TableProfile, cells};
use crate::model::rowset::Bounds;
use crate::model::schema::{Column, Table};
use crate::query::select::select;
use crate::sqlite::collect::Collector;
use crate::sqlite::session::Session;

/// Maximum size of all values of a column that are compared. SQLite keeps different values in memory.
const MAX_COMPARED: u64 = 32 << 20;

/// The part of the timeout after which no further column is read, in percent.
const TIME: u32 = 70;

pub(crate) fn profile_table(
    session: &mut Session<'_>,
    request: &ProfileTable,
) -> Result<TableProfile, Error> {
    let started = Instant::now();
    let sample = request.sample()?;
    let table = session.table(&request.table_name)?;
    let time = session.config().limits.timeout * TIME / 100;
    let (mut rows, mut columns, mut skipped) = (0, Vec::new(), Vec::new());
    for column in request.columns(&table)? {
        if started.elapsed() >= time {
            skipped.push(column.name.clone());
            continue;
        }
        let profile = profile(session, &table, column, sample);
        let (read, profile) = profile.map_err(|error| error.on_table(&table.name))?;
        rows = read;
        columns.push(profile);
    }
    let table = table.name.clone();
    Ok(TableProfile { table, rows, sampled: rows >= sample, columns, skipped })
}

/// The number of rows, and the profile of a column.
fn profile(
    session: &mut Session<'_>,
    table: &Table,
    column: &Column,
    sample: u64,
) -> Result<(u64, ColumnProfile), Error> {
    let name = std::iter::once(format!("{} AS v", table.dialect.column(&column.name)));
    let source = format!("({} LIMIT {sample})", select(name, table));
    if column.mask.is_some() {
        let counts = rows(session, &format!("SELECT count(*), count(v) FROM {source}"))?;
        let [count, values] = [0, 1].map(|index| {
            let count = counts.first().and_then(|row| row.get(index)?.as_u64());
            count.unwrap_or(0)
        });
        return Ok((count, ColumnProfile::masked(column, count.saturating_sub(values))));
    }
    let summary = rows(
        session,
        &format!(
            "SELECT count(*), count(v), {}, {}, coalesce(sum(octet_length(v)), 0) FROM {source}",
            shown("min(v)"),
            shown("max(v)"),
        ),
    )?;
    let [summary] = summary.as_slice() else { return Err(Error::ReaderLost) };
    let number = |index: usize| summary.get(index).and_then(Json::as_u64).unwrap_or(0);
    let (count, values) = (number(0), number(1));
    let value = |index: usize| summary.get(index).cloned().unwrap_or_default();
    let mut distinct = Json::Null;
    let (counted, grouped) = match number(4) <= MAX_COMPARED {
        true => {
            let sql = format!("SELECT count(DISTINCT v) FROM {source}");
            distinct = rows(session, &sql)?.into_iter().flatten().next().unwrap_or_default();
            ("count(*)", "GROUP BY v ORDER BY count(*) DESC, v")
        }
        false => ("NULL", ""),
    };
    let examples = rows(
        session,
        &format!(
            "SELECT {}, {counted} FROM {source} WHERE v IS NOT NULL {grouped} LIMIT {EXAMPLES}",
            shown("v")
        ),
    )?;
    let nulls = Json::from(count.saturating_sub(values));
    let summary = [nulls, distinct, value(2), value(3)];
    Ok((count, ColumnProfile::of(column, &summary, examples)))
}

/// A value in a form of bounded size.
fn shown(value: &str) -> String {
    format!(
        "CASE typeof({value}) WHEN 'text' THEN substr({value}, 1, {}) \
         WHEN 'blob' THEN 'BLOB of ' || length({value}) || ' bytes' ELSE {value} END",
        MAX_TEXT + 1
    )
}

fn rows(session: &mut Session<'_>, sql: &str) -> Result<Vec<Vec<Json>>, Error> {
    let bounds = Bounds { max_rows: EXAMPLES, max_bytes: session.config().limits.max_bytes };
    let mut rows = Collector::new(bounds, Instant::now());
    session.with_statement(sql, |statement| rows.take(statement))?;
    Ok(cells(&rows.finish()?))
}
