use std::time::Instant;

use rusqlite::{Row, Statement};
use serde_json::value::RawValue;

use super::cell;
use super::{ResultColumn, Rowset, TruncatedBy};
use crate::error::Error;

/// How much of a result is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) max_rows: u64,
    /// Of the rows' JSON text.
    pub(crate) max_bytes: usize,
}

/// Steps a statement whose parameters are bound, until its end or a bound. To know whether there is more
/// it steps to the row after the last one, and no further.
pub(crate) fn collect(
    statement: &mut Statement<'_>,
    bounds: Bounds,
    started: Instant,
) -> Result<Rowset, Error> {
    let mut text = Vec::with_capacity(1_024);
    let mut row_count = 0;
    let mut truncated_by = None;
    let mut columns = None;

    text.push(b'[');
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        // Not before the first step: a schema change makes SQLite compile the statement again there.
        let width = columns.get_or_insert_with(|| result_columns(row.as_ref())).len();
        if row_count == bounds.max_rows {
            truncated_by = Some(TruncatedBy::Rows);
            break;
        }
        let row_start = text.len();
        if row_count > 0 {
            text.push(b',');
        }
        if !write_row(&mut text, row, width, bounds.max_bytes)? {
            text.truncate(row_start);
            truncated_by = Some(TruncatedBy::Bytes);
            break;
        }
        row_count += 1;
    }
    drop(rows);
    text.push(b']');

    Ok(Rowset {
        columns: columns.unwrap_or_else(|| result_columns(statement)),
        rows: raw_json(text)?,
        row_count,
        truncated: truncated_by.is_some(),
        truncated_by,
        next_cursor: None,
        elapsed_ms: (started.elapsed().as_secs_f64() * 1e6).round() / 1e3,
    })
}

fn result_columns(statement: &Statement<'_>) -> Vec<ResultColumn> {
    let describe = |column: &rusqlite::Column<'_>| ResultColumn {
        name: column.name().to_owned(),
        declared_type: column.decl_type().map(str::to_owned),
    };
    statement.columns().iter().map(describe).collect()
}

/// Writes a row, and tells whether it ended within the bound. The text may then end anywhere.
fn write_row(
    text: &mut Vec<u8>,
    row: &Row<'_>,
    width: usize,
    max_bytes: usize,
) -> Result<bool, Error> {
    text.push(b'[');
    for index in 0..width {
        if index > 0 {
            text.push(b',');
        }
        let value = row.get_ref(index)?;
        // Before it is written: a value can have 16 MB, and six times that in escapes.
        if text.len() + cell::least_bytes(value) >= max_bytes {
            return Ok(false);
        }
        cell::write(text, value);
    }
    text.push(b']');
    // One more for the end of the array.
    Ok(text.len() < max_bytes)
}

fn raw_json(text: Vec<u8>) -> Result<Box<RawValue>, Error> {
    // It is valid by construction, and this cannot fail. There is no safe way to say so.
    String::from_utf8(text)
        .ok()
        .and_then(|text| RawValue::from_string(text).ok())
        .ok_or(Error::ReaderLost)
}
