//! JSON Schemas of arguments that are read as any JSON, and of values in results.
//!
//! Language models read them in every conversation, so they are short: they tell kinds of JSON apart, and
//! the descriptions tell the rest. What an object may hold is checked where it is read, whose errors name
//! the column.

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
    json_schema!({ "type": "object", "additionalProperties": scalar() })
}

/// Conditions by column, if any.
pub(crate) fn optional_filters(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"], "additionalProperties": scalar() })
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

/// A value, or an object that stands for one; for conditions, one of operators.
fn scalar() -> Json {
    json!({ "type": ["null", "boolean", "number", "string", "object"] })
}

/// What `rowset::cell` writes.
fn cell() -> Json {
    json!({ "type": ["null", "number", "string", "object"] })
}
