//! Values of parameters. They are sent as text, which the server converts as it converts literals.

use std::error::Error as StdError;
use std::fmt::Write;

use bytes::BytesMut;
use serde_json::{Map, Value as Json};
use tokio_postgres::Statement;
use tokio_postgres::types::{Field, Format, IsNull, Kind, ToSql, Type, to_sql_checked};

use super::value::escaped;
use crate::model::error::Error;
use crate::model::exact_json;
use crate::model::value::{self, Value, has_marker};
use crate::query::document::{Encoding, is_nan};

/// The text of a value, or NULL.
#[derive(Clone, Debug)]
pub(super) struct TextParam(Option<Vec<u8>>);

impl ToSql for TextParam {
    fn to_sql(
        &self,
        _: &Type,
        buffer: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match &self.0 {
            Some(text) => {
                buffer.extend_from_slice(text);
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// The values of the parameters of a statement, which the query builder has read.
///
/// # Errors
///
/// [`Error::BadParam`] if a list or an object does not fit its parameter.
pub(super) fn of_values<'v>(
    values: impl IntoIterator<Item = &'v Value>,
    statement: &Statement,
) -> Result<Vec<TextParam>, Error> {
    let bad = |number, reason: &str| Error::BadParam { number, reason: reason.to_owned() };
    let param = |(number, (value, kind)): (usize, (&Value, &Type))| match value {
        Value::Document(json) => from_json(json, kind).map_err(|reason| bad(number, reason)),
        Value::Text(text) if let Some(json) = object_of(text, kind) => {
            from_json(&json, kind).map_err(|reason| bad(number, reason))
        }
        value => Ok(from_value(value)),
    };
    (1..).zip(values.into_iter().zip(statement.params())).map(param).collect()
}

/// A scalar. The server refuses a text that is not valid in its encoding.
fn from_value(value: &Value) -> TextParam {
    let text = match value {
        Value::Null => return TextParam(None),
        Value::Integer(integer) => integer.to_string(),
        Value::Real(real) => float(*real),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => hex(bytes),
        Value::TextBytes(bytes) => return TextParam(Some(bytes.clone())),
        Value::Document(json) => exact_json::text(json),
    };
    TextParam(Some(text.into_bytes()))
}

/// A value of a caller's parameter, for the type that the server has determined.
pub(super) fn from_json(json: &Json, expected: &Type) -> Result<TextParam, &'static str> {
    let kind = base_type(expected);
    let encoding = Encoding::of(kind.name());
    let is_document = encoding == Encoding::Json && exact_json::is_document(json);
    if !is_document && exact_json::kept_text(json).is_some() {
        return from_json(&exact_json::member(json), kind);
    }
    let text = match (json, kind.kind()) {
        (Json::Null, _) => return Ok(TextParam(None)),
        (Json::Bool(value), _) => value.to_string(),
        (Json::String(text), _) => match object_of(text, kind) {
            Some(json) => return from_json(&json, kind),
            None => text.clone(),
        },
        (Json::Object(_) | Json::Array(_), _) if encoding == Encoding::Json => {
            exact_json::text(json)
        }
        (Json::Number(_), _) => {
            encoding.check(json)?;
            json.to_string()
        }
        (Json::Object(fields), Kind::Composite(types)) => {
            return row(fields, types).map(|row| TextParam(Some(row)));
        }
        (Json::Object(fields), _) if is_hstore(fields, encoding) => {
            return hstore(fields).map(|text| TextParam(Some(text)));
        }
        (Json::Object(fields), _) if is_nan(fields) => "NaN".to_owned(),
        (Json::Object(fields), _) if let Some(number) = exact_json::raw_text(fields) => {
            encoding.check(json)?;
            number.to_owned()
        }
        (Json::Object(fields), _) if has_marker(fields) => {
            return Ok(from_value(&value::from_json(json)?));
        }
        (Json::Array(elements), Kind::Array(element)) => {
            let is_vector = [Type::INT2_VECTOR, Type::OID_VECTOR].contains(kind);
            let text = if is_vector { vector(elements, element) } else { array(elements, element) };
            return text.map(|text| TextParam(Some(text)));
        }
        (Json::Object(_) | Json::Array(_), _) => exact_json::text(json),
    };
    Ok(TextParam(Some(text.into_bytes())))
}

/// The object in a text, as in CSV, for a type whose own texts are not JSON: a composite value is in parentheses.
fn object_of(text: &str, expected: &Type) -> Option<Json> {
    let kind = base_type(expected);
    let has_objects =
        matches!(kind.kind(), Kind::Composite(_)) || Encoding::of(kind.name()) == Encoding::Hstore;
    if !text.starts_with('{') || !has_objects {
        return None;
    }
    let json = exact_json::raw(text);
    exact_json::member(&json).is_object().then_some(json)
}

/// The text of an array: `{"1",NULL,"a\"b"}`. Lists of lists are arrays of several dimensions, unless the elements are
/// JSON, or arrays by another name.
fn array(elements: &[Json], kind: &Type) -> Result<Vec<u8>, &'static str> {
    let base = base_type(kind);
    let has_dimensions =
        Encoding::of(base.name()) != Encoding::Json && !matches!(base.kind(), Kind::Array(_));
    let quoted = |text: &[u8]| quoted(text, &[(b'\\', b'\\'), (b'"', b'\\')]);
    let element = |json: &Json| match &*exact_json::member(json) {
        Json::Array(nested) if has_dimensions => array(nested, kind),
        _ => Ok(part(json, kind)?.map_or(b"NULL".to_vec(), |text| quoted(&text))),
    };
    let elements: Vec<Vec<u8>> = elements.iter().map(element).collect::<Result<_, _>>()?;
    Ok([b"{", &elements.join(&separator(base))[..], b"}"].concat())
}

/// The separator of the elements of an array. Few types have another one than a comma, since their texts contain it.
fn separator(element: &Type) -> u8 {
    match element.name() {
        "box" => b';',
        "geometry" | "geography" => b':',
        _ => b',',
    }
}

/// The text of an element of an array or a field of a composite value, or NULL. A string of JSON is a document there.
fn part(json: &Json, kind: &Type) -> Result<Option<Vec<u8>>, &'static str> {
    let is_document = Encoding::of(base_type(kind).name()) == Encoding::Json;
    if is_document && !json.is_null() {
        return Ok(Some(exact_json::text(json).into_bytes()));
    }
    from_json(json, kind).map(|text| text.0)
}

/// The text of the types `int2vector` and `oidvector`: `1 2`.
fn vector(elements: &[Json], kind: &Type) -> Result<Vec<u8>, &'static str> {
    let element = |json| from_json(json, kind).map(|text| text.0.unwrap_or_default());
    let elements: Vec<Vec<u8>> = elements.iter().map(element).collect::<Result<_, _>>()?;
    Ok(elements.join(&b' '))
}

/// The text of a composite value: `("1",,"a""b")`. Fields that are missing are NULL.
fn row(fields: &Map<String, Json>, types: &[Field]) -> Result<Vec<u8>, &'static str> {
    if fields.keys().any(|name| types.iter().all(|field| field.name() != name)) {
        return Err("the object has a key that is not a field of the composite type");
    }
    let field = |field: &Field| {
        let json = fields.get(field.name()).unwrap_or(&Json::Null);
        let escapes = [(b'\\', b'\\'), (b'"', b'"')];
        let text = part(json, field.type_())?;
        // NULL is empty.
        Ok::<_, &str>(text.map_or(Vec::new(), |text| quoted(&text, &escapes)))
    };
    let fields: Vec<Vec<u8>> = types.iter().map(field).collect::<Result<_, _>>()?;
    Ok([b"(", &fields.join(&b',')[..], b")"].concat())
}

/// Whether an object is a value of `hstore`, and not the bytes of one that is not UTF-8, whose number no `hstore` has.
fn is_hstore(fields: &Map<String, Json>, encoding: Encoding) -> bool {
    let is_bytes =
        || fields.contains_key("$text") && fields.get("bytes").is_some_and(Json::is_number);
    encoding == Encoding::Hstore && !is_bytes()
}

/// The text of an `hstore`: `"a"=>"1","b"=>NULL`.
fn hstore(fields: &Map<String, Json>) -> Result<Vec<u8>, &'static str> {
    let quoted = |text: &[u8]| quoted(text, &[(b'\\', b'\\'), (b'"', b'\\')]);
    let pair = |(key, value): (&String, &Json)| {
        let value = match &*exact_json::member(value) {
            Json::Array(_) => return Err(HSTORE_VALUES),
            Json::Object(fields) if !has_marker(fields) => return Err(HSTORE_VALUES),
            value => from_json(value, &Type::TEXT)?.0,
        };
        let value = value.map_or(b"NULL".to_vec(), |value| quoted(&value));
        Ok([quoted(key.as_bytes()), value].join(&b"=>"[..]))
    };
    let pairs: Vec<Vec<u8>> = fields.iter().map(pair).collect::<Result<_, _>>()?;
    Ok(pairs.join(&b','))
}

const HSTORE_VALUES: &str = "the values of hstore are strings and null";

/// A text in quotation marks, with these escapes.
fn quoted(text: &[u8], escapes: &[(u8, u8)]) -> Vec<u8> {
    [b"\"", &escaped(text, escapes)[..], b"\""].concat()
}

/// The text of a floating-point number in PostgreSQL.
fn float(value: f64) -> String {
    match value {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        value => value.to_string(),
    }
}

/// The text of bytes in PostgreSQL: `\x00ff`.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    for byte in bytes {
        // Writing into a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The type that a domain restricts, or the type itself.
fn base_type(of: &Type) -> &Type {
    match of.kind() {
        Kind::Domain(base) => base_type(base),
        _ => of,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio_postgres::types::Type;

    use super::from_json;

    #[test]
    fn texts() {
        for (json, expected_type, expected) in [
            (json!(true), Type::BOOL, Some("true")),
            (json!(9007199254740993_u64), Type::INT8, Some("9007199254740993")),
            (json!(0.1), Type::NUMERIC, Some("0.1")),
            (json!(null), Type::INT4, None),
            (json!({"a": 1}), Type::JSONB, Some(r#"{"a":1}"#)),
            (json!([1, "x"]), Type::JSONB, Some(r#"[1,"x"]"#)),
            (json!([1, null]), Type::INT4_ARRAY, Some(r#"{"1",NULL}"#)),
            (json!([["a\"b"], ["\\"]]), Type::TEXT_ARRAY, Some(r#"{{"a\"b"},{"\\"}}"#)),
            (json!([{"$blob": "AP8="}, null]), Type::BYTEA_ARRAY, Some(r#"{"\\x00ff",NULL}"#)),
            (json!([{"$float": "NaN"}]), Type::FLOAT8_ARRAY, Some(r#"{"NaN"}"#)),
            (json!([1, 2]), Type::INT2_VECTOR, Some("1 2")),
            (json!(["(3,4),(1,2)", null]), Type::BOX_ARRAY, Some(r#"{"(3,4),(1,2)";NULL}"#)),
            (json!([[1, 2], []]), Type::INT2_VECTOR_ARRAY, Some(r#"{"1 2",""}"#)),
            (json!([[1], {"a": 2}]), Type::JSONB_ARRAY, Some(r#"{"[1]","{\"a\":2}"}"#)),
            (json!({"$blob": "AP8="}), Type::BYTEA, Some("\\x00ff")),
            (json!({"$float": "-Infinity"}), Type::FLOAT8, Some("-Infinity")),
            (json!({"$float": "NaN"}), Type::JSONB, Some(r#"{"$float":"NaN"}"#)),
            (json!([{"$blob": "AP8="}, null]), Type::BYTEA_ARRAY, Some(r#"{"\\x00ff",NULL}"#)),
            (
                json!([{"$float": "NaN"}, {"$float": "-Infinity"}, 1.5]),
                Type::FLOAT8_ARRAY,
                Some(r#"{"NaN","-Infinity","1.5"}"#),
            ),
            (json!(["x", null, 1]), Type::JSONB_ARRAY, Some(r#"{"\"x\"",NULL,"1"}"#)),
            (json!([{"$blob": 1}]), Type::JSON_ARRAY, Some(r#"{"{\"$blob\":1}"}"#)),
        ] {
            let text = from_json(&json, &expected_type).unwrap().0;
            assert_eq!(text.as_deref(), expected.map(str::as_bytes), "{json}");
        }
    }
}
