//! Records of imports, with values of the types of their columns.

use serde_json::{Map, Value as Json};

use super::change::Record;
use crate::model::error::{Error, ErrorClass};
use crate::model::exact_json;
use crate::model::file_value::{self, ColumnKind};
use crate::model::import::{ImportBatch, ImportRecord};
use crate::model::schema::{Column, Dialect, Table, Visibility};
use crate::model::value::Value;

/// Reads a record, without the values of generated columns, which the engine computes. Values of other types than that
/// of their column are errors.
pub(crate) fn record<'t>(
    table: &'t Table,
    batch: &ImportBatch,
    record: &ImportRecord,
) -> Result<Record<'t>, Error> {
    let is_alone = record.data.len() == 1;
    let mut data = Map::new();
    for (name, json) in &record.data {
        let column = table.column(name)?;
        if is_generated(column) {
            continue;
        }
        let kind = ColumnKind::of(column, table.dialect);
        let json = match table.dialect {
            _ if batch.are_texts => file_value::of_field(json, kind, is_alone),
            Dialect::Sqlite => file_value::of_json(json, kind),
            Dialect::Postgres => json.clone(),
        };
        data.insert(name.clone(), json);
    }
    let mut record = Record::read(table, &data)?;
    if table.dialect == Dialect::Sqlite {
        // An object is a text of this column in spite of its type.
        let is_text = |json: &Json| matches!(json, Json::String(_));
        let values = record.values.iter_mut().zip(data.values());
        for (name, (value, _)) in record.columns.iter().zip(values).filter(|one| is_text(one.1.1)) {
            convert(value, table.column(name)?)?;
        }
    }
    Ok(record)
}

fn is_generated(column: &Column) -> bool {
    matches!(column.visibility, Visibility::GeneratedVirtual | Visibility::GeneratedStored)
}

/// Whether an error concerns one record, so that others can still be imported.
pub(crate) fn is_of_record(error: &Error) -> bool {
    matches!(error.class(), ErrorClass::Request)
        || matches!(error, Error::OverLimit { .. } | Error::TooManyRows { .. })
}

/// Converts a text for a column of SQLite, which would store it as a text.
fn convert(value: &mut Value, column: &Column) -> Result<(), Error> {
    let Value::Text(text) = value else { return Ok(()) };
    let text = text.trim();
    let expected = match ColumnKind::of(column, Dialect::Sqlite) {
        ColumnKind::Boolean => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "1" => return set(value, Value::Integer(1)),
            "false" | "f" | "no" | "0" => return set(value, Value::Integer(0)),
            _ => "true or false",
        },
        ColumnKind::Integer => match integer(text) {
            Some(integer) => return set(value, Value::Integer(integer)),
            None => "an integer of 64 bits",
        },
        ColumnKind::Real | ColumnKind::Number => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(integer), _) => return set(value, Value::Integer(integer)),
            (Err(_), Ok(real)) if real.is_finite() || is_infinity(text) => {
                return set(value, Value::Real(real));
            }
            _ => "a number",
        },
        _ => return Ok(()),
    };
    Err(Error::BadColumn {
        argument: "data",
        column: column.name.clone(),
        reason: format!("expected {expected}"),
    })
}

/// The integer of a text such as `7`, `7.0` or `7e3`, if it is exact.
fn integer(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.bytes().all(|digit| digit == b'0')
        && let Ok(integer) = whole.parse()
    {
        return Some(integer);
    }
    // Less than 2^63.
    let real = exact_json::double(text).filter(|real| real.fract() == 0.0 && real.abs() < 9.2e18);
    real.map(|real| real as i64)
}

/// Whether a text is an infinity, as Python writes it. A number that is too large is not.
fn is_infinity(text: &str) -> bool {
    let name = text.strip_prefix(['-', '+']).unwrap_or(text);
    name.eq_ignore_ascii_case("inf") || name.eq_ignore_ascii_case("infinity")
}

fn set(value: &mut Value, converted: Value) -> Result<(), Error> {
    *value = converted;
    Ok(())
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
            base_type: None,
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
            ("INT", "7.00", Some(Value::Integer(7))),
            ("INT", "-7.", Some(Value::Integer(-7))),
            ("INT", "9007199254740993.0", Some(Value::Integer(9_007_199_254_740_993))),
            ("INT", "9.007199254740993e15", None),
            ("INT", "1.23457E+11", Some(Value::Integer(123_457_000_000))),
            ("INT", ".", None),
            ("INT", "inf", None),
            ("INT", "", None),
            ("INT", "12abc", None),
            ("DOUBLE", "1.5", Some(Value::Real(1.5))),
            ("REAL", "x", None),
            ("REAL", "nan", None),
            ("REAL", "inf", Some(Value::Real(f64::INFINITY))),
            ("REAL", "-Infinity", Some(Value::Real(f64::NEG_INFINITY))),
            ("REAL", "1e400", None),
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
