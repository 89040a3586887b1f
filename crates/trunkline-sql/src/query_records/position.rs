use rusqlite::types::Value;
use serde::{Deserialize, Serialize};

use crate::cursor::{self, Fingerprint};
use crate::error::Error;

/// Where a listing continues: after a number of rows, and after the row with this key.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) offset: u64,
    /// None if rows of the listing have no key: then `offset` alone is the position.
    key: Option<Vec<Part>>,
}

/// A value that a cursor can hold without loss.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Part {
    Null,
    Integer(i64),
    /// Its bits.
    Real(u64),
    Text(String),
    Blob(Vec<u8>),
}

/// Longest text of a cursor's position, in bytes. Rows with longer keys are counted.
const MAX_LENGTH: usize = 2_048;

impl Position {
    pub(super) fn after_rows(offset: u64) -> Self {
        Self { offset, key: None }
    }

    pub(super) fn read(cursor: &str, request: Fingerprint) -> Result<Self, Error> {
        let text = cursor::decode(request, cursor)?;
        serde_json::from_str(&text).map_err(|_| cursor::MALFORMED)
    }

    /// The cursor of the position after `offset` rows, the last of which has this key.
    pub(super) fn cursor(offset: u64, key: Option<Vec<Value>>, request: Fingerprint) -> String {
        let key = key.map(|key| key.into_iter().map(Part::from).collect());
        let text = Self { offset, key }.text();
        let text = if text.len() > MAX_LENGTH { Self::after_rows(offset).text() } else { text };
        cursor::encode(request, &text)
    }

    pub(super) fn into_key(self) -> Option<Vec<Value>> {
        Some(self.key?.into_iter().map(Value::from).collect())
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts serialise into memory")
    }
}

impl From<Value> for Part {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(number) => Self::Integer(number),
            Value::Real(number) => Self::Real(number.to_bits()),
            Value::Text(text) => Self::Text(text),
            Value::Blob(bytes) => Self::Blob(bytes),
        }
    }
}

impl From<Part> for Value {
    fn from(part: Part) -> Self {
        match part {
            Part::Null => Self::Null,
            Part::Integer(number) => Self::Integer(number),
            Part::Real(bits) => Self::Real(f64::from_bits(bits)),
            Part::Text(text) => Self::Text(text),
            Part::Blob(bytes) => Self::Blob(bytes),
        }
    }
}
