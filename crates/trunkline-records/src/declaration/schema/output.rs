//! Schemas of command results.

use serde_json::{Value, json};

use super::parts::{ObjectSchema, described};
use crate::declaration::types::RecordType;

pub(super) fn record(kind: &RecordType) -> Value {
    let id = described("string", "Unique id among the records of the type.");
    let mut record = ObjectSchema::default().required("id", id);
    for field in kind.fields() {
        let always = field.required() || field.default().is_some();
        let add = if always { ObjectSchema::required } else { ObjectSchema::optional };
        record = add(record, field.name(), field.stored());
    }
    let version = json!({
        "type": "integer",
        "minimum": 1,
        "description": "Increases with each change.",
    });
    let mut schema = record
        .required("version", version)
        .required("createdAt", time("Time of creation."))
        .required("updatedAt", time("Time of the last change."))
        .schema();
    if let Some(description) = kind.description() {
        schema["description"] = description.into();
    }
    schema
}

pub(super) fn page(kind: &RecordType) -> Value {
    let items = json!({
        "type": "array",
        "items": record(kind),
        "description": "Records, in the order of their ids.",
    });
    let next = json!({
        "type": ["string", "null"],
        "description": "The cursor of the next page; null for the last page. Other pages can have fewer \
                        records than requested, or none.",
    });
    ObjectSchema::default().required("items", items).required("nextCursor", next).schema()
}

pub(super) fn status() -> Value {
    let commands = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "The commands of the type.",
    });
    ObjectSchema::default()
        .required("resource", described("string", "The name of the resource."))
        .optional("description", described("string", "The description of the type."))
        .required("counts", counts())
        .required("commands", commands)
        .required("schema", described("object", "The JSON Schema of its records."))
        .schema()
}

pub(super) fn reverted() -> Value {
    let status = json!({
        "type": "string",
        "enum": ["reverted", "noop"],
        "description": "Whether the request was reverted, or there was nothing to revert.",
    });
    ObjectSchema::default()
        .required("status", status)
        .required("requestId", described("string", "The requestId of the params."))
        .schema()
}

fn counts() -> Value {
    let total = json!({ "type": "integer", "minimum": 0, "description": "Number of records." });
    let counted = json!({
        "type": "integer",
        "minimum": 0,
        "description": "Number of records counted in fields: those with the first ids if there are too many \
                        for one command.",
    });
    let fields = json!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": { "type": "integer", "minimum": 0 },
        },
        "description": "Number of counted records by field and value, for fields with few values.",
    });
    let mut counts = ObjectSchema::default()
        .required("total", total)
        .required("counted", counted)
        .required("fields", fields)
        .schema();
    counts["description"] = "Counts of the stored records.".into();
    counts
}

fn time(description: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": description })
}
