//! Values in files of exports. A value has the type of its column. One of another type, which SQLite allows, is an
//! object such as `{"$text": base64}`, so that an import reads the same value.

use serde_json::{Map, Number, Value as Json};

use super::exact_json;
use super::json_text;
use super::schema::{Column, Dialect};
use super::value::{self, Value, has_marker};

/// NULL, where an empty field is an empty text: in CSV with one column.
pub(crate) const NULL: &str = r#"{"$null":true}"#;

/// The key of an integer.
pub(crate) const INTEGER: &str = "$integer";

/// The key of a floating-point number.
pub(crate) const FLOAT: &str = "$float";

/// The type of a column, as far as the values of files depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Integer,
    Real,
    Number,
    /// Numbers 0 and 1.
    Boolean,
    /// Texts. In SQLite, also bytes.
    Text(Dialect),
    /// A type for which SQLite prefers numbers, but whose values are often texts, such as `DATE`.
    Untyped,
    /// No type, or `BLOB`.
    Any,
    /// Documents of PostgreSQL.
    Json,
    /// Arrays of PostgreSQL.
    Array,
    /// Another type of PostgreSQL.
    Other,
}

impl ColumnKind {
    pub(crate) fn of(column: &Column, dialect: Dialect) -> Self {
        match dialect {
            Dialect::Sqlite => Self::of_sqlite(&column.declared_type.to_ascii_uppercase()),
            Dialect::Postgres => Self::of_postgres(column.value_type()),
        }
    }

    /// SQLite's rules for declared types, in capital letters.
    pub(crate) fn of_sqlite(declared: &str) -> Self {
        let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
        if has(&["INT"]) {
            Self::Integer
        } else if has(&["CHAR", "CLOB", "TEXT"]) {
            Self::Text(Dialect::Sqlite)
        } else if declared.is_empty() || has(&["BLOB", "ANY"]) {
            Self::Any
        } else if has(&["REAL", "FLOA", "DOUB"]) {
            Self::Real
        } else if has(&["BOOL"]) {
            Self::Boolean
        } else if has(&["NUM", "DEC", "MONEY"]) {
            Self::Number
        } else {
            Self::Untyped
        }
    }

    fn of_postgres(declared: &str) -> Self {
        let name = declared.split('(').next().unwrap_or_default();
        match name {
            "json" | "jsonb" => Self::Json,
            "text" | "character varying" | "character" | "citext" | "name" | "xml" => {
                Self::Text(Dialect::Postgres)
            }
            "int2vector" | "oidvector" => Self::Array,
            _ if declared.ends_with("[]") => Self::Array,
            _ => Self::Other,
        }
    }

    /// Whether a field of CSV without quotes is a number if it looks like one.
    fn has_numbers(self) -> bool {
        matches!(self, Self::Any | Self::Untyped)
    }

    /// Whether an object in a field is a value. A column of texts may contain any other text that looks like one.
    pub(crate) fn accepts(self, object: &Map<String, Json>, text: &str) -> bool {
        match self {
            Self::Text(dialect) => {
                let value = value::from_json(&Json::Object(object.clone()));
                let mut written = Vec::new();
                match (value, dialect) {
                    (Ok(Value::Blob(bytes)), Dialect::Sqlite) => {
                        json_text::bytes(&mut written, "$blob", &bytes);
                    }
                    (Ok(Value::Text(text)), _) => {
                        json_text::bytes(&mut written, "$text", text.as_bytes());
                    }
                    (Ok(Value::TextBytes(bytes)), _) => {
                        json_text::bytes(&mut written, "$text", &bytes);
                    }
                    _ => {}
                }
                written == text.as_bytes()
            }
            _ => has_marker(object) || object.contains_key(INTEGER),
        }
    }
}

/// Whether a text could be read as an object with a value. Such texts are objects in CSV.
pub(crate) fn looks_like_object(text: &[u8]) -> bool {
    const BEGINNINGS: [&str; 5] =
        ["{\"$blob\"", "{\"$text\"", "{\"$float\"", "{\"$integer\"", "{\"$null\""];
    text.starts_with(b"{\"$") && BEGINNINGS.iter().any(|first| text.starts_with(first.as_bytes()))
}

/// A field of CSV for an [`ImportRecord`](super::import::ImportRecord). NULL is [`Json::Null`].
#[must_use]
pub fn csv_field(text: String, is_quoted: bool) -> Json {
    if !is_quoted && exact_json::is_number_text(&text) {
        return exact_json::raw(&text);
    }
    text.into()
}

/// The value of a [field of CSV](csv_field) as JSON. `is_alone` is whether its record has no other fields.
pub(crate) fn of_field(field: &Json, kind: ColumnKind, is_alone: bool) -> Json {
    let (text, is_number) = match field {
        Json::String(text) => (text.as_str(), false),
        Json::Object(fields) if let Some(text) = exact_json::raw_text(fields) => (text, true),
        other => return other.clone(),
    };
    // Among other fields, NULL is an empty field, and this a document.
    if text == NULL && (is_alone || kind != ColumnKind::Json) {
        return Json::Null;
    }
    if is_number && kind.has_numbers() {
        return number(text).unwrap_or_else(|| text.into());
    }
    let is_list = |text: &str| text.starts_with('[');
    match kind {
        ColumnKind::Json if exact_json::is_valid(text) => return exact_json::raw(text),
        ColumnKind::Json => return text.into(),
        ColumnKind::Array if is_list(text) && exact_json::is_valid(text) => {
            return exact_json::raw(text);
        }
        _ => {}
    }
    if looks_like_object(text.as_bytes())
        && let Ok(Json::Object(object)) = exact_json::parse(text)
        && kind.accepts(&object, text)
    {
        return of_object(object);
    }
    text.into()
}

/// The value of JSON for a column of SQLite, which stores documents and lists as texts, and in columns of texts also
/// numbers.
pub(crate) fn of_json(json: &Json, kind: ColumnKind) -> Json {
    if kind == ColumnKind::Text(Dialect::Sqlite)
        && (json.is_number() || exact_json::number(json).is_some())
    {
        return exact_json::text(json).into();
    }
    match &*exact_json::member(json) {
        Json::Object(fields) if has_marker(fields) || fields.contains_key(INTEGER) => {
            of_object(fields.clone())
        }
        Json::Object(_) | Json::Array(_) => exact_json::compact(json).into(),
        // An object with duplicate keys.
        Json::String(_) if exact_json::is_document(json) => exact_json::compact(json).into(),
        member => member.clone(),
    }
}

/// Replaces an object of a number by the number.
fn of_object(object: Map<String, Json>) -> Json {
    let one = match object.iter().next() {
        Some((key, Json::String(text))) if object.len() == 1 => Some((key.as_str(), text)),
        _ => None,
    };
    let number = match one {
        Some((INTEGER, text)) => text.parse::<i64>().ok().map(Json::from),
        Some((FLOAT, text)) => text.parse().ok().and_then(Number::from_f64).map(Json::Number),
        _ => None,
    };
    number.unwrap_or(Json::Object(object))
}

/// The number that a column of SQLite stores, if it is exact.
fn number(text: &str) -> Option<Json> {
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    exact_json::double(text).and_then(Number::from_f64).map(Json::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::{ColumnKind, Dialect, csv_field, of_field};

    #[track_caller]
    fn check(declared: (&str, Dialect), field: (&str, bool), expected: Json) {
        let kind = match declared.1 {
            Dialect::Sqlite => ColumnKind::of_sqlite(declared.0),
            Dialect::Postgres => ColumnKind::of_postgres(declared.0),
        };
        let found = of_field(&csv_field(field.0.to_owned(), field.1), kind, false);
        let found = super::exact_json::text(&found);
        assert_eq!(found, expected.to_string(), "{declared:?} {field:?}");
    }

    #[test]
    fn the_type_of_the_column_decides() {
        use Dialect::{Postgres, Sqlite};
        let blob = r#"{"$blob":"AAA=","bytes":2}"#;
        for (declared, field, expected) in [
            // Texts that others have written.
            (("TEXT", Sqlite), (r#"{"$blob": "AAA="}"#, true), json!(r#"{"$blob": "AAA="}"#)),
            (("TEXT", Sqlite), (r#"{"$text": {"a": 1}}"#, true), json!(r#"{"$text": {"a": 1}}"#)),
            (("TEXT", Sqlite), (r#"{"$float":"1"}"#, true), json!(r#"{"$float":"1"}"#)),
            (("text", Postgres), (blob, true), json!(blob)),
            (("character varying(9)", Postgres), (blob, true), json!(blob)),
            (("text", Postgres), (r#"{"$text":"YQ=="}"#, true), json!(r#"{"$text":"YQ=="}"#)),
            // Objects of our exports.
            (("TEXT", Sqlite), (blob, true), json!({"$blob": "AAA=", "bytes": 2})),
            (("BLOB", Sqlite), (r#"{"$blob": "AAA="}"#, true), json!({"$blob": "AAA="})),
            (
                ("text", Postgres),
                (r#"{"$text":"YQ==","bytes":1}"#, true),
                json!({"$text": "YQ==", "bytes": 1}),
            ),
            (("", Sqlite), (r#"{"$integer":"7"}"#, true), json!(7)),
            (("INT", Sqlite), (r#"{"$float":"1.5"}"#, true), json!(1.5)),
            (("INT", Sqlite), (r#"{"$float":"Infinity"}"#, true), json!({"$float": "Infinity"})),
            (("TEXT", Sqlite), (super::NULL, true), json!(null)),
            (("bytea", Postgres), (r#"{"$blob":"AA=="}"#, true), json!({"$blob": "AA=="})),
            // Numbers of columns without a type.
            (("", Sqlite), ("12", false), json!(12)),
            (("", Sqlite), ("12", true), json!("12")),
            (("", Sqlite), ("1.0", false), json!(1.0)),
            (("", Sqlite), ("007", false), json!("007")),
            (("", Sqlite), ("0.1234567890123456789", false), json!("0.1234567890123456789")),
            (("", Sqlite), ("12345678901234567890", false), json!("12345678901234567890")),
            (("DATE", Sqlite), ("2460000.5", false), json!(2460000.5)),
            (("DATE", Sqlite), ("2026-11-28", false), json!("2026-11-28")),
            (("TEXT", Sqlite), ("12", false), json!("12")),
            (("text", Postgres), ("12", false), json!("12")),
            (("integer", Postgres), ("12", false), json!("12")),
            // Documents and arrays.
            (("jsonb", Postgres), (r#""{\"x\":1}""#, true), json!(r#"{"x":1}"#)),
            (("jsonb", Postgres), ("plain", false), json!("plain")),
            (("jsonb", Postgres), (super::NULL, true), json!({"$null": true})),
            (("integer[]", Postgres), (super::NULL, true), json!(null)),
            (("text[]", Postgres), (r#"["a","1"]"#, true), json!(["a", "1"])),
            (("text[]", Postgres), ("{a,b}", true), json!("{a,b}")),
        ] {
            check(declared, field, expected);
        }
    }
}
