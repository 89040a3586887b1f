//! Records of imports, with values of the types of their columns.

use serde_json::{Map, Value as Json};

use super::change::Record;
use crate::model::error::{Error, ErrorClass};
use crate::model::exact_json;
use crate::model::import::{ImportBatch, ImportRecord, RejectedRecord, read_text};
use crate::model::schema::{Column, Dialect, Table};
use crate::model::value::{Value, has_marker};

/// Reads a record. Values of other types than that of their column are errors.
pub(crate) fn record<'t>(
    table: &'t Table,
    batch: &ImportBatch,
    record: &ImportRecord,
) -> Result<Record<'t>, Error> {
    let mut data = Map::new();
    for (name, json) in &record.data {
        let column = table.column(name)?;
        let json = match json {
            Json::String(text) if batch.are_texts => read_text(text, column, table.dialect),
            // SQLite has no type for them.
            Json::Object(fields) if table.dialect == Dialect::Sqlite && !has_marker(fields) => {
                exact_json::text(json).into()
            }
            Json::Array(_) if table.dialect == Dialect::Sqlite => exact_json::text(json).into(),
            json => json.clone(),
        };
        data.insert(name.clone(), json);
    }
    let mut record = Record::read(table, &data)?;
    if table.dialect == Dialect::Sqlite {
        for (name, value) in record.columns.iter().zip(&mut record.values) {
            convert(value, table.column(name)?)?;
        }
    }
    Ok(record)
}

/// Whether an error concerns one record, so that others can still be imported.
pub(crate) fn is_of_record(error: &Error) -> bool {
    matches!(error.class(), ErrorClass::Request)
        || matches!(error, Error::OverLimit { .. } | Error::TooManyRows { .. })
}

/// The description of a rejected record.
pub(crate) fn rejected(record: &ImportRecord, error: &Error) -> RejectedRecord {
    let record_json =
        record.data.iter().map(|(name, value)| (name.clone(), exact_json::with_texts(value)));
    let record_json = Json::Object(record_json.collect());
    RejectedRecord { line: record.line, reason: error.to_string(), record: Some(record_json) }
}

/// Converts a text for a column of SQLite, which would store it as a text.
fn convert(value: &mut Value, column: &Column) -> Result<(), Error> {
    let Value::Text(text) = value else { return Ok(()) };
    let text = text.trim();
    let declared = column.declared_type.to_ascii_uppercase();
    let expected = match Affinity::of(&declared) {
        Affinity::Text | Affinity::Blob => return Ok(()),
        Affinity::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "1" => return set(value, Value::Integer(1)),
            "false" | "f" | "no" | "0" => return set(value, Value::Integer(0)),
            _ => "true or false",
        },
        Affinity::Integer => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(integer), _) => return set(value, Value::Integer(integer)),
            // Less than 2^63.
            (Err(_), Ok(real)) if real.fract() == 0.0 && real.abs() < 9.2e18 => {
                return set(value, Value::Integer(real as i64));
            }
            _ => "an integer of 64 bits",
        },
        Affinity::Real | Affinity::Number => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(integer), _) => return set(value, Value::Integer(integer)),
            (Err(_), Ok(real)) if real.is_finite() => return set(value, Value::Real(real)),
            _ => "a number",
        },
    };
    Err(Error::BadColumn {
        argument: "data",
        column: column.name.clone(),
        reason: format!("expected {expected}"),
    })
}

fn set(value: &mut Value, converted: Value) -> Result<(), Error> {
    *value = converted;
    Ok(())
}

/// The type that SQLite prefers for a column.
enum Affinity {
    Integer,
    Text,
    Blob,
    Real,
    Number,
    /// Numbers 0 and 1.
    Boolean,
}

impl Affinity {
    /// SQLite's rules for declared types, in capital letters. Dates and times are texts.
    fn of(declared: &str) -> Self {
        let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
        if has(&["INT"]) {
            Self::Integer
        } else if has(&["CHAR", "CLOB", "TEXT"]) {
            Self::Text
        } else if declared.is_empty() || has(&["BLOB", "ANY"]) {
            Self::Blob
        } else if has(&["REAL", "FLOA", "DOUB"]) {
            Self::Real
        } else if has(&["BOOL"]) {
            Self::Boolean
        } else if has(&["NUM", "DEC", "MONEY"]) {
            Self::Number
        } else {
            Self::Text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Column, Value, convert};
    use crate::model::schema::Visibility;

    #[track_caller]
    fn check(declared_type: &str, text: &str, expected: Option<Value>) {
        let column = Column {
            name: "c".to_owned(),
            declared_type: declared_type.to_owned(),
            not_null: false,
            default: None,
            key_place: 0,
            visibility: Visibility::Normal,
            mask: None,
        };
        let mut value = Value::Text(text.to_owned());
        let converted = convert(&mut value, &column).ok().map(|()| value);
        assert_eq!(converted, expected, "{declared_type} {text}");
    }

    #[test]
    fn texts_become_values_of_the_column() {
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        for (declared_type, from, expected) in [
            ("INTEGER", "42", Some(Value::Integer(42))),
            ("bigint", " -7 ", Some(Value::Integer(-7))),
            ("INT", "1e3", Some(Value::Integer(1000))),
            ("INT", "9223372036854775807", Some(Value::Integer(i64::MAX))),
            ("INT", "9223372036854775808", None),
            ("INT", "1.5", None),
            ("INT", "", None),
            ("INT", "12abc", None),
            ("DOUBLE", "1.5", Some(Value::Real(1.5))),
            ("REAL", "x", None),
            ("REAL", "nan", None),
            ("DECIMAL(10, 2)", "3", Some(Value::Integer(3))),
            ("BOOLEAN", "True", Some(Value::Integer(1))),
            ("BOOLEAN", "2", None),
            ("TEXT", "42", text("42")),
            ("VARCHAR(3)", "007", text("007")),
            ("DATETIME", "2026-11-24", text("2026-11-24")),
            ("BLOB", "1", text("1")),
            ("", "1", text("1")),
        ] {
            check(declared_type, from, expected);
        }
    }
}
