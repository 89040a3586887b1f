//! Deserialization and JSON Schemas of arguments, and the schemas of values in results.
//!
//! Language models read the schemas in every conversation, so they are short: each names one form of an argument, and
//! its description shows an example. Deserialization accepts further forms that models send, where they are
//! unambiguous: a number as a string, one column instead of a list, an object as its JSON text.

use std::fmt;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json, json};

use super::exact_json;

// It concerns JSON alone, so the domain may use it.
pub(super) use trunkline::limits::DistinctKeys;

/// Reads a value without duplicate keys, as [`exact_json::read`] does. A string that begins like an object or array is
/// read as JSON text.
pub(super) fn structured<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
    match exact_json::read(deserializer)? {
        Json::String(text) if text.trim_start().starts_with(['{', '[']) => exact_json::parse(&text)
            .map_err(|error| D::Error::custom(format!("invalid JSON in a string: {error}"))),
        value => Ok(value),
    }
}

/// Reads an object, or its JSON text. For `#[serde(deserialize_with = …)]`.
pub(super) fn object<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Json>, D::Error> {
    optional_object(deserializer)?.ok_or_else(|| D::Error::custom("expected an object"))
}

/// Reads an object of values that keep their text, or its JSON text. For `#[serde(deserialize_with = …)]`.
pub(super) fn record<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Json>, D::Error> {
    match exact_json::read_values(deserializer)? {
        Json::Object(object) => Ok(object),
        _ => Err(D::Error::custom("expected an object")),
    }
}

/// Reads an optional object, or its JSON text. For `#[serde(default, deserialize_with = …)]`.
pub(super) fn optional_object<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Map<String, Json>>, D::Error> {
    match structured(deserializer)? {
        Json::Object(object) => Ok(Some(object)),
        Json::Null => Ok(None),
        _ => Err(D::Error::custom("expected an object")),
    }
}

/// Reads an optional count: a whole number, zero or more, or such a number in a string. For
/// `#[serde(default, deserialize_with = …)]`.
pub(super) fn optional_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(Count)
}

struct Count;

impl Visitor<'_> for Count {
    type Value = Option<u64>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number, zero or more")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    /// `2.0` is an integer, for JSON Schema.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&value) {
            return Ok(Some(value as u64));
        }
        Err(E::invalid_value(serde::de::Unexpected::Float(value), &self))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        u64::try_from(value)
            .map(Some)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(value), &self))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        let digits = Some(value).filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok());
        number.map(Some).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(value), &self))
    }
}

/// Reads an optional list of column names, or one name. For `#[serde(default, deserialize_with = …)]`.
pub(super) fn optional_names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    deserializer.deserialize_any(Names)
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Option<Vec<String>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of column names")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Some(vec![name.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(names)).map(Some)
    }
}

/// A text.
pub(super) fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

/// A truth value, false by default.
pub(super) fn flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "boolean" })
}

/// A count: a whole number, zero or more.
pub(super) fn count(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0 })
}

/// A number of milliseconds, from one.
pub(super) fn milliseconds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1 })
}

/// A number of rows of a sample.
pub(super) fn sample_rows(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0, "maximum": 5 })
}

/// Names of columns.
pub(super) fn names(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "string" } })
}

/// Kinds of tables.
pub(super) fn kinds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["table", "view", "virtual"] })
}

/// Forms of rows in text.
pub(super) fn formats(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["tsv", "json"] })
}

/// Resolutions of conflicts.
pub(super) fn resolutions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["abort", "ignore", "replace"] })
}

/// Values, or conditions, by column.
pub(super) fn by_column(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

/// One record, or several.
pub(super) fn records(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "array"], "items": { "type": "object" } })
}

/// New values by column.
pub(super) fn changes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "minProperties": 1 })
}

/// Definitions of columns by name.
pub(super) fn definitions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "additionalProperties": { "type": "string" }, "minProperties": 1,
    })
}

/// Values of a statement's parameters, by position.
pub(super) fn params(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": {} })
}

/// The rows of a result: arrays of values.
pub(super) fn rows(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "array", "items": cell() } })
}

/// Objects of any form, which may contain each other.
pub(super) fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "object" } })
}

/// A value of a column.
pub(super) fn value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["null", "boolean", "number", "string", "object", "array"] })
}

/// A value in a result.
fn cell() -> Json {
    json!({ "type": ["null", "number", "string", "object"] })
}
