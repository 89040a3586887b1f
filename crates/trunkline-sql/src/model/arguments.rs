//! Deserialization and JSON Schemas of arguments, and the schemas of values in results.
//!
//! Language models read the schemas in every conversation, so they are short: they name kinds of JSON, and the
//! descriptions of the fields explain the rest. The content of objects is checked later, with errors that name
//! the column.

use std::fmt;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserializer;
use serde::de::{Error, Visitor};
use serde_json::{Value as Json, json};

// It concerns JSON alone, so the domain may use it.
pub(super) use trunkline::limits::DistinctKeys;

/// Reads an optional count: a whole number, zero or more. For `#[serde(default, deserialize_with = …)]`.
///
/// Serde's own message for `-1` is "expected u64", which does not help most callers.
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
}

/// A count: a whole number, zero or more.
pub(super) fn count(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": 0 })
}

/// A number of milliseconds, from one.
pub(super) fn milliseconds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": 1 })
}

/// A number of rows of a sample.
pub(super) fn sample_rows(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": 0, "maximum": 5 })
}

/// Conditions by column; required.
pub(super) fn filters(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": scalar() })
}

/// Conditions by column; optional.
pub(super) fn optional_filters(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"], "additionalProperties": scalar() })
}

/// One record, or several.
pub(super) fn records(_: &mut SchemaGenerator) -> Schema {
    let record = json!({ "type": "object", "additionalProperties": scalar() });
    json_schema!({
        "anyOf": [record, { "type": "array", "items": record, "minItems": 1, "maxItems": 1_000 }],
    })
}

/// New values by column.
pub(super) fn changes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": scalar(), "minProperties": 1 })
}

/// Values of a statement's parameters, by position or by name.
pub(super) fn params(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            { "type": "array", "items": scalar() },
            { "type": "object", "additionalProperties": scalar() },
            { "type": "null" },
        ],
    })
}

/// The rows of a result: arrays of values.
pub(super) fn rows(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "array", "items": cell() } })
}

/// A value, or an object that represents one; in conditions also an object of operators.
fn scalar() -> Json {
    json!({ "type": ["null", "boolean", "number", "string", "object"] })
}

/// A value in a result.
fn cell() -> Json {
    json!({ "type": ["null", "number", "string", "object"] })
}
