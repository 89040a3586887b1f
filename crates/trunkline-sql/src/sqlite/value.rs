//! Values of SQLite: as parameters, as JSON text, and as names of the schema.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, Value as Owned, ValueRef};
use rusqlite::{Row, Statement};

use crate::model::error::Error;
use crate::model::exact_json;
use crate::model::export::ExportFormat;
use crate::model::file_value::{ColumnKind, FLOAT, INTEGER};
use crate::model::json_text;
use crate::model::rowset::MAX_EXACT;
use crate::model::value::Value;

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Owned::Null),
            Self::Integer(integer) => ToSqlOutput::Owned(Owned::Integer(*integer)),
            Self::Real(real) => ToSqlOutput::Owned(Owned::Real(*real)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::TextBytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Text(bytes)),
            Self::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::Document(json) => ToSqlOutput::Owned(Owned::Text(exact_json::text(json))),
        })
    }
}

impl FromSql for Value {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(integer) => Self::Integer(integer),
            ValueRef::Real(real) => Self::Real(real),
            ValueRef::Text(bytes) => Self::text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        })
    }
}

/// Binds values to the parameters of a statement, by position.
pub(super) fn bind<'v>(
    statement: &mut Statement<'_>,
    values: impl IntoIterator<Item = &'v Value>,
) -> Result<(), Error> {
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}

/// Reads a name of the schema, which SQLite stores as bytes. The inner error is a name that is not valid UTF-8, with
/// U+FFFD for invalid bytes: requests and statements cannot contain such a name.
pub(super) fn name(row: &Row<'_>, index: usize) -> rusqlite::Result<Result<String, String>> {
    let bytes = row.get_ref(index)?.as_bytes()?;
    Ok(match str::from_utf8(bytes) {
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err(String::from_utf8_lossy(bytes).into_owned()),
    })
}

/// Reads a text for display, with U+FFFD for bytes that are not valid UTF-8.
pub(super) fn text(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<String>> {
    let bytes = row.get_ref(index)?.as_bytes_or_null()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// Reads a text for display that is never NULL.
pub(super) fn some_text(row: &Row<'_>, index: usize) -> rusqlite::Result<String> {
    Ok(text(row, index)?.unwrap_or_default())
}

/// A lower bound of the number of bytes that [`write`] adds, from the length of the value.
pub(super) fn least_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 1,
        ValueRef::Text(bytes) => bytes.len() + 2,
        ValueRef::Blob(bytes) => bytes.len() / 3 * 4,
    }
}

/// Writes a value as JSON text.
pub(super) fn write(text: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => text.extend_from_slice(b"null"),
        ValueRef::Integer(value) => json_text::integer(text, value),
        ValueRef::Real(value) => json_text::real(text, value),
        ValueRef::Text(bytes) => json_text::text(text, bytes),
        ValueRef::Blob(bytes) => json_text::bytes(text, "$blob", bytes),
    }
}

/// Writes a value of a column of a table for a file. A value that an import would read differently from its plain form
/// is an object.
pub(super) fn write_in_file(
    text: &mut Vec<u8>,
    value: ValueRef<'_>,
    kind: ColumnKind,
    format: ExportFormat,
) {
    use ColumnKind::{Any, Boolean, Integer, Number, Real};
    let is_csv = format == ExportFormat::Csv;
    match (value, kind) {
        (ValueRef::Text(bytes), Integer | Real | Number | Boolean) => {
            json_text::bytes(text, "$text", bytes);
        }
        (ValueRef::Integer(value), Any) if is_csv => {
            text.extend_from_slice(value.to_string().as_bytes());
        }
        (ValueRef::Integer(value), Any) if value.unsigned_abs() > MAX_EXACT => {
            json_text::number(text, INTEGER, &value);
        }
        (ValueRef::Integer(value), Boolean)
            if (is_csv && value >> 1 != 0) || value.unsigned_abs() > MAX_EXACT =>
        {
            json_text::number(text, INTEGER, &value);
        }
        (ValueRef::Real(value), Integer | Boolean) if is_csv && value.is_finite() => {
            json_text::number(text, FLOAT, &value);
        }
        _ => write(text, value),
    }
}

#[cfg(test)]
mod tests {
    use super::{ValueRef, least_bytes, write};

    #[test]
    fn every_kind_of_value() {
        let rows = [
            (ValueRef::Null, "null"),
            (ValueRef::Integer(-3), "-3"),
            (ValueRef::Integer(1 << 53), "9007199254740992"),
            (ValueRef::Integer((1 << 53) + 1), r#""9007199254740993""#),
            (ValueRef::Integer(-(1 << 53)), "-9007199254740992"),
            (ValueRef::Integer(i64::MIN), r#""-9223372036854775808""#),
            (ValueRef::Real(1.0), "1.0"),
            (ValueRef::Real(-0.25), "-0.25"),
            (ValueRef::Real(f64::INFINITY), r#"{"$float":"Infinity"}"#),
            (ValueRef::Real(f64::NEG_INFINITY), r#"{"$float":"-Infinity"}"#),
            (ValueRef::Text(b"a\"\n\x01"), r#""a\"\n\u0001""#),
            (ValueRef::Text("é😀".as_bytes()), r#""é😀""#),
            (ValueRef::Text(b""), r#""""#),
            (ValueRef::Text(b"Customer#000000001 ~\x7f"), "\"Customer#000000001 ~\x7f\""),
            (ValueRef::Text(b"Customer#00000000\\"), r#""Customer#00000000\\""#),
            (ValueRef::Text(b"\xff"), r#"{"$text":"/w==","bytes":1}"#),
            (ValueRef::Blob(b""), r#"{"$blob":"","bytes":0}"#),
            (ValueRef::Blob(b"\0\x01"), r#"{"$blob":"AAE=","bytes":2}"#),
        ];
        for (value, expected) in rows {
            let mut text = Vec::new();
            write(&mut text, value);
            assert_eq!(String::from_utf8_lossy(&text), expected);
            assert!(least_bytes(value) <= text.len(), "{expected}");
        }
    }
}
