use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use rusqlite::{Row, Statement};

use super::value;
use crate::model::error::Error;
use crate::model::rowset::{Bounds, ResultColumn, RowWriter, Rowset};
use crate::model::value::Value;
use crate::model::visibility::ResultMasks;

/// Collects the rows of one result, from one statement or from several with the same columns.
pub(super) struct Collector {
    rows: RowWriter,
    columns: Option<Vec<ResultColumn>>,
    /// The number of columns at the end that are the key of a row, and not in the result.
    key_width: usize,
    masks: ResultMasks,
    key: Option<Vec<Value>>,
}

impl Collector {
    pub(super) fn new(bounds: Bounds, started: Instant) -> Self {
        let rows = RowWriter::new(bounds, started);
        Self { rows, columns: None, key_width: 0, masks: ResultMasks::default(), key: None }
    }

    /// Uses the last columns as the key of each row and omits them from the result.
    pub(super) fn keyed_by_last(mut self, columns: usize) -> Self {
        self.key_width = columns;
        self
    }

    /// Masks columns of the result.
    pub(super) fn masked_by(mut self, masks: ResultMasks) -> Self {
        self.masks = masks;
        self
    }

    /// The key of the last collected row.
    pub(super) fn take_key(&mut self) -> Option<Vec<Value>> {
        self.key.take()
    }

    /// Steps a statement with bound parameters. At a limit, a reading statement is stopped after one more row, which
    /// shows whether more exist. A writing one runs to its end, where SQLite checks foreign keys.
    pub(super) fn take(&mut self, statement: &mut Statement<'_>) -> Result<(), Error> {
        let is_reading = statement.readonly();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if !self.rows.is_full() {
                self.take_row(row)?;
            }
            if self.rows.is_full() && is_reading {
                break;
            }
        }
        drop(rows);
        let columns = || self.masks.of_columns(result_columns(statement, self.key_width));
        self.columns.get_or_insert_with(columns);
        Ok(())
    }

    fn take_row(&mut self, row: &Row<'_>) -> Result<(), Error> {
        // After the first step, in which SQLite recompiles the statement if the schema has changed.
        let columns = || self.masks.of_columns(result_columns(row.as_ref(), self.key_width));
        let width = self.columns.get_or_insert_with(columns).len();
        if self.rows.row(|text, max_bytes| write_row(text, row, (width, max_bytes), &self.masks))? {
            let keys = (width..width + self.key_width).map(|index| row.get(index).ok());
            self.key = keys.collect();
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Rowset, Error> {
        self.rows.finish(self.columns.unwrap_or_default())
    }
}

/// The columns of the result, without those of the key.
pub(super) fn result_columns(statement: &Statement<'_>, key_width: usize) -> Vec<ResultColumn> {
    let describe = |column: &rusqlite::Column<'_>| ResultColumn {
        name: column.name().to_owned(),
        declared_type: column.decl_type().map(str::to_owned),
    };
    // rusqlite panics for a declared type that is not valid UTF-8. The result is then without types.
    let described =
        catch_unwind(AssertUnwindSafe(|| statement.columns().iter().map(describe).collect()));
    let mut described: Vec<_> = described.unwrap_or_else(|_| {
        let untyped = |name: &str| ResultColumn { name: name.to_owned(), declared_type: None };
        statement.column_names().into_iter().map(untyped).collect()
    });
    described.truncate(described.len().saturating_sub(key_width));
    described
}

/// Writes a row, and returns whether it fits. If not, the text may end anywhere.
fn write_row(
    text: &mut Vec<u8>,
    row: &Row<'_>,
    (width, max_bytes): (usize, usize),
    masks: &ResultMasks,
) -> Result<bool, rusqlite::Error> {
    text.push(b'[');
    for index in 0..width {
        if index > 0 {
            text.push(b',');
        }
        let cell = row.get_ref(index)?;
        // Checked beforehand, since a value can have 16 MB, and six times that with escapes.
        if text.len() + value::least_bytes(cell) >= max_bytes {
            return Ok(false);
        }
        let start = text.len();
        value::write(text, cell);
        masks.apply(index, text, start);
    }
    text.push(b']');
    Ok(true)
}
