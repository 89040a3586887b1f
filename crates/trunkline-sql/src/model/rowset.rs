//! Results: columns with their types, rows as arrays, and the reason for truncation.

use std::borrow::Cow;
use std::time::Instant;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::arguments;
use super::error::Error;

/// The rows of one query.
///
/// | SQLite | JSON |
/// |---|---|
/// | NULL | `null` |
/// | INTEGER up to 2^53 in magnitude | number |
/// | INTEGER above | string of digits, since most JSON readers would round it |
/// | REAL | number; `{"$float": "Infinity"}` or `"-Infinity"` where JSON has none (SQLite stores NaN as NULL) |
/// | TEXT | string; `{"$text": base64, "bytes": n}` if it is not valid UTF-8 |
/// | BLOB | `{"$blob": base64, "bytes": n}` |
///
/// Inserts, updates, filters and parameters accept all of them. A large integer in a string becomes an
/// integer again in a column of a numeric type; for a column without a type, send it as a number.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(description = "The rows of a query.")]
pub struct Rowset {
    /// One entry for each column. Two columns may have the same name.
    pub columns: Vec<ResultColumn>,
    /// The rows, each an array of values in the order of `columns`. Integers above 2^53 are strings, a BLOB
    /// is {"$blob": base64, "bytes": n}.
    // As text, since rows are serialized once, while SQLite steps.
    #[schemars(schema_with = "arguments::rows")]
    pub rows: Box<RawValue>,
    /// Number of rows in `rows`.
    pub row_count: u64,
    /// Whether the result lacks rows because of a limit of the server, the default number of rows, or `max_rows`. A
    /// `limit` in the request of `query_records` does not count.
    pub truncated: bool,
    /// The kind of the limit.
    pub truncated_by: Option<TruncatedBy>,
    /// The cursor of the next page of `query_records`, if there are more rows. Opaque. It contains the key of the last
    /// row, so that the next page neither skips nor repeats rows when others are inserted or deleted meanwhile. For
    /// views and virtual tables, which have no key, it contains the number of rows, and pages may do so.
    #[schemars(
        description = "The cursor of the next page of query_records, if there are more rows. Opaque."
    )]
    pub next_cursor: Option<String>,
    /// Instructions for reading the other rows of a truncated result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Time for executing the statement and serializing rows, in milliseconds.
    pub elapsed_ms: f64,
}

impl Rowset {
    /// Adds instructions for reading the other rows, if the result is truncated.
    pub(crate) fn with_hint(mut self, hint: impl FnOnce(&Self) -> String) -> Self {
        if self.truncated {
            self.hint = Some(hint(&self));
        }
        self
    }

    /// Whether the first row alone exceeds the maximum size.
    pub(crate) fn is_first_row_too_large(&self) -> bool {
        self.row_count == 0 && self.truncated_by == Some(TruncatedBy::Bytes)
    }
}

/// The maximum size of a result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) max_rows: u64,
    /// Of the rows' JSON text.
    pub(crate) max_bytes: usize,
}

/// The JSON text of the rows of a result, up to its maximum size.
#[derive(Debug)]
pub(crate) struct RowWriter {
    bounds: Bounds,
    started: Instant,
    text: Vec<u8>,
    row_count: u64,
    truncated_by: Option<TruncatedBy>,
}

impl RowWriter {
    pub(crate) fn new(bounds: Bounds, started: Instant) -> Self {
        // For blocks of 1 KiB or more, glibc consolidates its free lists each time.
        let mut text = Vec::with_capacity(512);
        text.push(b'[');
        Self { bounds, started, text, row_count: 0, truncated_by: None }
    }

    /// Whether the result has its maximum size.
    pub(crate) fn is_full(&self) -> bool {
        self.truncated_by.is_some()
    }

    /// Adds a row, and returns whether it fits. `write` appends an array of at most `max_bytes` bytes in total, and
    /// returns false if there is not enough space.
    pub(crate) fn row<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>, usize) -> Result<bool, E>,
    ) -> Result<bool, E> {
        if self.row_count == self.bounds.max_rows {
            self.truncated_by = Some(TruncatedBy::Rows);
            return Ok(false);
        }
        let start = self.text.len();
        if self.row_count > 0 {
            self.text.push(b',');
        }
        // One more byte for the end of the list.
        let fits = write(&mut self.text, self.bounds.max_bytes)?
            && self.text.len() < self.bounds.max_bytes;
        if fits {
            self.row_count += 1;
        } else {
            self.text.truncate(start);
            self.truncated_by = Some(TruncatedBy::Bytes);
        }
        Ok(fits)
    }

    pub(crate) fn finish(mut self, columns: Vec<ResultColumn>) -> Result<Rowset, Error> {
        self.text.push(b']');
        Ok(Rowset {
            columns,
            rows: raw_json(self.text)?,
            row_count: self.row_count,
            truncated: self.truncated_by.is_some(),
            truncated_by: self.truncated_by,
            next_cursor: None,
            hint: None,
            elapsed_ms: (self.started.elapsed().as_secs_f64() * 1e6).round() / 1e3,
        })
    }
}

fn raw_json(text: Vec<u8>) -> Result<Box<RawValue>, Error> {
    // The text is valid by construction, but a constructor without the check is unsafe.
    String::from_utf8(text)
        .ok()
        .and_then(|text| RawValue::from_string(text).ok())
        .ok_or(Error::ReaderLost)
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ResultColumn {
    /// The name or alias, as SQLite gives it.
    pub name: String,
    /// The declared type of the table's column that this is; null for an expression.
    #[serde(rename = "type")]
    pub declared_type: Option<String>,
}

/// The reason for a truncated result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TruncatedBy {
    /// The number of rows.
    Rows,
    /// The size of the rows' JSON text in bytes. It contains whole rows only.
    Bytes,
}

/// The largest magnitude up to which every integer has an exact double.
pub(crate) const MAX_EXACT: u64 = 1 << 53;

/// The number of a row. As JSON it is a number, and above 2^53 in magnitude a string of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowNumber(pub i64);

impl Serialize for RowNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.unsigned_abs() <= MAX_EXACT {
            serializer.serialize_i64(self.0)
        } else {
            serializer.collect_str(&self.0)
        }
    }
}

impl JsonSchema for RowNumber {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RowNumber".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"] })
    }
}
