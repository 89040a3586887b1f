//! The types of the columns of a new table, from all values of a file.

use serde_json::Value as Json;

use super::exact_json;
use super::file_value::{self, ColumnKind, FLOAT, INTEGER};
use super::schema::Dialect;

/// The type of a column that stores all values of a file without a change of a digit. Without values, it is text.
///
/// Numbers that begin with 0 or `+` are texts. Integers of more than 64 bits are `NUMERIC` in PostgreSQL, and texts in
/// SQLite, which has no exact type for them, as are fractions with more digits than a double. Dates and timestamps are
/// those of ISO 8601, with `T` or a space; timestamps with and without a zone are different types.
#[derive(Clone, Copy, Debug, Default)]
pub struct InferredType {
    /// The forms of the values, as bits.
    forms: u16,
    /// Whether a double would round a number.
    is_rounded: bool,
}

#[derive(Clone, Copy)]
enum Form {
    Boolean,
    Integer,
    LargeInteger,
    Decimal,
    Exponent,
    Date,
    Timestamp,
    ZonedTimestamp,
    Document,
    Bytes,
    Text,
}

impl Form {
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

const INTEGERS: u16 = Form::Integer.bit() | Form::LargeInteger.bit();
const DECIMALS: u16 = INTEGERS | Form::Decimal.bit();
const NUMBERS: u16 = DECIMALS | Form::Exponent.bit();

impl InferredType {
    /// Adds a value of a record. `is_field` is that of [`ImportBatch`](super::import::ImportBatch) for its format.
    pub fn add(&mut self, value: &Json, is_field: bool) {
        let form = match value {
            Json::Null => return,
            Json::Bool(_) => Form::Boolean,
            Json::Number(number) => self.number(&number.to_string()),
            Json::String(text) if is_field => match self.field(text) {
                Some(form) => form,
                None => return,
            },
            Json::String(text) => time_form(text).unwrap_or(Form::Text),
            Json::Object(fields) => match exact_json::raw_text(fields) {
                Some(text) if text.starts_with(['{', '[']) => Self::object(text),
                Some(text) if text.starts_with('"') => {
                    return self.add(&exact_json::member(value), is_field);
                }
                Some(number) => self.number(number),
                None => Form::Document,
            },
            Json::Array(_) => Form::Document,
        };
        self.forms |= form.bit();
    }

    /// The name of the type.
    pub(crate) fn name(self, dialect: Dialect) -> &'static str {
        let only = |forms: u16| self.forms != 0 && self.forms & !forms == 0;
        let is_postgres = dialect == Dialect::Postgres;
        let by_engine = |sqlite, postgres| if is_postgres { postgres } else { sqlite };
        if only(Form::Boolean.bit()) {
            "BOOLEAN"
        } else if only(Form::Integer.bit()) {
            by_engine("INTEGER", "BIGINT")
        } else if only(INTEGERS) {
            by_engine("TEXT", "NUMERIC")
        } else if only(NUMBERS) {
            match (is_postgres, self.is_rounded) {
                (false, true) => "TEXT",
                (false, false) => "REAL",
                (true, false) if !only(DECIMALS) => "DOUBLE PRECISION",
                (true, _) => "NUMERIC",
            }
        } else if only(Form::Date.bit()) {
            "DATE"
        } else if only(Form::Timestamp.bit()) {
            by_engine("DATETIME", "TIMESTAMP")
        } else if only(Form::ZonedTimestamp.bit()) {
            by_engine("DATETIME", "TIMESTAMPTZ")
        } else if only(Form::Bytes.bit()) {
            by_engine("BLOB", "BYTEA")
        } else if self.forms & Form::Document.bit() != 0 {
            by_engine("TEXT", "JSONB")
        } else {
            "TEXT"
        }
    }

    /// The form of a field of CSV. None for NULL.
    fn field(&mut self, text: &str) -> Option<Form> {
        if text == file_value::NULL {
            return None;
        }
        let is_boolean = text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false");
        Some(if is_boolean {
            Form::Boolean
        } else if exact_json::is_number_text(text) {
            self.number(text)
        } else if file_value::looks_like_object(text.as_bytes()) {
            match Self::object(text) {
                Form::Document => Form::Text,
                form => form,
            }
        } else {
            time_form(text).unwrap_or(Form::Text)
        })
    }

    /// The form of an object or a list.
    fn object(text: &str) -> Form {
        let Ok(Json::Object(object)) = exact_json::parse(text) else { return Form::Document };
        let is_exact = ColumnKind::Text(Dialect::Sqlite).accepts(&object, text);
        let has = |key: &str| object.contains_key(key);
        if is_exact {
            return if has("$blob") { Form::Bytes } else { Form::Text };
        }
        match object.len() {
            1 if has(FLOAT) => Form::Exponent,
            1 if has(INTEGER) => Form::Integer,
            _ => Form::Document,
        }
    }

    fn number(&mut self, text: &str) -> Form {
        self.is_rounded |= exact_json::double(text).is_none();
        if text.contains(['e', 'E']) {
            Form::Exponent
        } else if text.contains('.') || text == "-0" {
            Form::Decimal
        } else if text.parse::<i64>().is_ok() {
            Form::Integer
        } else {
            Form::LargeInteger
        }
    }
}

/// The form of a date or timestamp that both engines accept.
fn time_form(text: &str) -> Option<Form> {
    let (date, rest) = text.as_bytes().split_at_checked(10)?;
    if !is_date(date) {
        return None;
    }
    let Some((separator, time)) = rest.split_first() else { return Some(Form::Date) };
    let is_zone = |byte: &u8| matches!(byte, b'Z' | b'+' | b'-');
    let (time, zone) = time.split_at(time.iter().position(is_zone).unwrap_or(time.len()));
    let is_valid = matches!(separator, b'T' | b' ') && is_time(time);
    match zone {
        _ if !is_valid => None,
        [] => Some(Form::Timestamp),
        [b'Z'] => Some(Form::ZonedTimestamp),
        [b'+' | b'-', offset @ ..] if is_offset(offset) => Some(Form::ZonedTimestamp),
        _ => None,
    }
}

fn is_date(text: &[u8]) -> bool {
    let [year @ .., b'-', m1, m2, b'-', d1, d2] = text else { return false };
    let (Some(year), Some(month), Some(day)) =
        (number(year), number(&[*m1, *m2]), number(&[*d1, *d2]))
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day)
}

/// Hours and minutes, also with seconds and at most 6 digits of a fraction, which PostgreSQL stores.
fn is_time(text: &[u8]) -> bool {
    let is_below =
        |digits: &[u8], end: u32| digits.len() == 2 && number(digits).is_some_and(|n| n < end);
    let (text, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&text[..dot], Some(&text[dot + 1..])),
        None => (text, None),
    };
    let is_fraction = |digits: &[u8]| (1..=6).contains(&digits.len()) && number(digits).is_some();
    let parts: Vec<&[u8]> = text.split(|byte| *byte == b':').collect();
    match parts.as_slice() {
        [hour, minute] => fraction.is_none() && is_below(hour, 24) && is_below(minute, 60),
        [hour, minute, second] => {
            is_below(hour, 24)
                && is_below(minute, 60)
                && is_below(second, 60)
                && fraction.is_none_or(is_fraction)
        }
        _ => false,
    }
}

/// `05`, `05:30` or `0530`.
fn is_offset(text: &[u8]) -> bool {
    let (hours, minutes) = match text {
        [h1, h2] => ([*h1, *h2], [b'0', b'0']),
        [h1, h2, b':', m1, m2] | [h1, h2, m1, m2] => ([*h1, *h2], [*m1, *m2]),
        _ => return false,
    };
    number(&hours).is_some_and(|n| n < 16) && number(&minutes).is_some_and(|n| n < 60)
}

fn number(digits: &[u8]) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value as Json};

    use super::{Dialect, InferredType};
    use crate::model::exact_json::read_json;
    use crate::model::file_value::csv_field;

    #[track_caller]
    fn check(values: &[Json], is_field: bool, (sqlite, postgres): (&str, &str)) {
        let mut inferred = InferredType::default();
        values.iter().for_each(|value| inferred.add(value, is_field));
        let found = (inferred.name(Dialect::Sqlite), inferred.name(Dialect::Postgres));
        assert_eq!(found, (sqlite, postgres), "{values:?}");
    }

    #[test]
    fn types_of_fields() {
        for (fields, expected) in [
            (&[][..], ("TEXT", "TEXT")),
            (&["1", "-7", "9223372036854775807"], ("INTEGER", "BIGINT")),
            (&["1", "9223372036854775808"], ("TEXT", "NUMERIC")),
            (&["1", "2.50"], ("REAL", "NUMERIC")),
            (&["0.1234567890123456789"], ("TEXT", "NUMERIC")),
            (&["9007199254740993", "0.5"], ("TEXT", "NUMERIC")),
            (&["1e300", "2"], ("REAL", "DOUBLE PRECISION")),
            (&["1e300", "0.1234567890123456789"], ("TEXT", "NUMERIC")),
            (&["007", "8"], ("TEXT", "TEXT")),
            (&["+1"], ("TEXT", "TEXT")),
            (&["-0"], ("TEXT", "TEXT")),
            (&["1,5"], ("TEXT", "TEXT")),
            (&["1 "], ("TEXT", "TEXT")),
            (&["NaN", "1"], ("TEXT", "TEXT")),
            (&["true", "False"], ("BOOLEAN", "BOOLEAN")),
            (&["true", "1"], ("TEXT", "TEXT")),
            (&["t"], ("TEXT", "TEXT")),
            (&["2026-11-28", "2024-02-29"], ("DATE", "DATE")),
            (&["2026-02-29"], ("TEXT", "TEXT")),
            (&["0000-01-01"], ("TEXT", "TEXT")),
            (&["28.11.2026"], ("TEXT", "TEXT")),
            (&["11/28/2026"], ("TEXT", "TEXT")),
            (&["2026-11-28T12:00:00", "2026-11-28 12:00"], ("DATETIME", "TIMESTAMP")),
            (&["2026-11-28 12:00:00.123456"], ("DATETIME", "TIMESTAMP")),
            (&["2026-11-28 12:00:00.1234567"], ("TEXT", "TEXT")),
            (&["2026-11-28 24:00:00"], ("TEXT", "TEXT")),
            (&["2026-11-28T12:00:00Z", "2026-11-28 12:00+05:30"], ("DATETIME", "TIMESTAMPTZ")),
            (&["2026-11-28T12:00:00Z", "2026-11-28T12:00:00"], ("TEXT", "TEXT")),
            (&["2026-11-28", "2026-11-28T12:00:00"], ("TEXT", "TEXT")),
            (&["é026-11-28"], ("TEXT", "TEXT")),
            (&[r#"{"a":1}"#], ("TEXT", "TEXT")),
            (&[r#"{"$blob":"AAA=","bytes":2}"#], ("BLOB", "BYTEA")),
            (&[r#"{"$blob": "AAA="}"#], ("TEXT", "TEXT")),
            (&[r#"{"$null":true}"#, "1"], ("INTEGER", "BIGINT")),
            (&["", "1"], ("TEXT", "TEXT")),
        ] {
            let values: Vec<Json> =
                fields.iter().map(|field| csv_field((*field).to_owned(), false)).collect();
            check(&values, true, expected);
        }
    }

    #[test]
    fn types_of_members() {
        for (members, expected) in [
            (&["1", "null", "2"][..], ("INTEGER", "BIGINT")),
            (&["1.50"], ("REAL", "NUMERIC")),
            (&["12345678901234567890"], ("TEXT", "NUMERIC")),
            (&["123456789012345678901234567890"], ("TEXT", "NUMERIC")),
            (&["true"], ("BOOLEAN", "BOOLEAN")),
            (&["\"1\""], ("TEXT", "TEXT")),
            (&["\"true\""], ("TEXT", "TEXT")),
            (&["\"2026-11-28\""], ("DATE", "DATE")),
            (&["{\"a\": 1}", "[1]"], ("TEXT", "JSONB")),
            (&["{\"a\": 1}", "\"x\"", "1"], ("TEXT", "JSONB")),
            (&["1", "\"x\""], ("TEXT", "TEXT")),
            (&["{\"$blob\":\"AAA=\",\"bytes\":2}"], ("BLOB", "BYTEA")),
            (&["{\"$float\":\"Infinity\"}", "1.5"], ("REAL", "DOUBLE PRECISION")),
        ] {
            let values: Vec<Json> = members
                .iter()
                .map(|member| {
                    let record = read_json(format!("{{\"a\": {member}}}").as_bytes()).unwrap();
                    let fields: Map<String, Json> = record.as_object().unwrap().clone();
                    fields["a"].clone()
                })
                .collect();
            check(&values, false, expected);
        }
    }
}
