//! JSON Schemas of arguments that are read as any JSON, and of values in results.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};

/// A count: a whole number, zero or more.
pub(crate) fn count(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": 0 })
}

/// A number of milliseconds, from one.
pub(crate) fn milliseconds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": 1 })
}

/// A number of rows of a sample.
pub(crate) fn sample_rows(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": 0, "maximum": 5 })
}

/// Conditions by column, which a request cannot do without.
pub(crate) fn filters(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": condition() })
}

/// Conditions by column, if any.
pub(crate) fn optional_filters(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"], "additionalProperties": condition() })
}

/// One record, or several.
pub(crate) fn records(_: &mut SchemaGenerator) -> Schema {
    let record = json!({ "type": "object", "additionalProperties": scalar() });
    json_schema!({
        "anyOf": [record, { "type": "array", "items": record, "minItems": 1, "maxItems": 1_000 }],
    })
}

/// New values by column.
pub(crate) fn changes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": scalar(), "minProperties": 1 })
}

/// Values of a statement's parameters, by position or by name.
pub(crate) fn params(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            { "type": "array", "items": scalar() },
            { "type": "object", "additionalProperties": scalar() },
            { "type": "null" },
        ],
    })
}

/// The rows of a result: arrays of values.
pub(crate) fn rows(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "array", "items": cell() } })
}

/// What [`value::from_json`](crate::value::from_json) reads.
fn scalar() -> Json {
    json!({ "anyOf": [{ "type": ["null", "boolean", "number", "string"] }, blob()] })
}

fn blob() -> Json {
    json!({
        "type": "object",
        "properties": {
            "$blob": { "type": "string", "contentEncoding": "base64" },
            "bytes": { "type": "integer", "minimum": 0 },
        },
        "required": ["$blob"],
        "additionalProperties": false,
    })
}

/// What [`Filter`](crate::filter::Filter) reads.
fn condition() -> Json {
    json!({
        "anyOf": [
            { "type": ["null", "boolean", "number", "string"] },
            blob(),
            {
                "type": "object",
                "properties": {
                    "gt": scalar(),
                    "gte": scalar(),
                    "lt": scalar(),
                    "lte": scalar(),
                    "ne": scalar(),
                    "in": { "type": "array", "items": scalar() },
                    "like": { "type": "string" },
                    "is_null": { "type": "boolean" },
                },
                "additionalProperties": false,
                "minProperties": 1,
            },
        ],
    })
}

/// What `rowset::cell` writes.
fn cell() -> Json {
    let bytes = |tag: &str| {
        json!({
            "type": "object",
            "properties": {
                tag: { "type": "string", "contentEncoding": "base64" },
                "bytes": { "type": "integer", "minimum": 0 },
            },
            "required": [tag, "bytes"],
            "additionalProperties": false,
        })
    };
    json!({
        "anyOf": [
            { "type": ["null", "number", "string"] },
            bytes("$blob"),
            bytes("$text"),
            {
                "type": "object",
                "properties": { "$float": { "enum": ["Infinity", "-Infinity"] } },
                "required": ["$float"],
                "additionalProperties": false,
            },
        ],
    })
}
