//! Schemas of the results of commands.

use serde_json::{Value, json};

use super::parts::{ObjectSchema, described};
use crate::declaration::types::ResourceType;

pub(super) fn record(kind: &ResourceType) -> Value {
    let id = described("string", "Tells the record from all others of its resource.");
    let mut record = ObjectSchema::default().required("id", id);
    for field in kind.fields() {
        let always = field.required() || field.default().is_some();
        let add = if always { ObjectSchema::required } else { ObjectSchema::optional };
        record = add(record, field.name(), field.stored());
    }
    let version = json!({
        "type": "integer",
        "minimum": 1,
        "description": "Goes up with each change.",
    });
    let mut schema = record
        .required("version", version)
        .required("createdAt", time("When it was created."))
        .required("updatedAt", time("When it was changed last."))
        .schema();
    if let Some(description) = kind.description() {
        schema["description"] = description.into();
    }
    schema
}

pub(super) fn page(kind: &ResourceType) -> Value {
    let items = json!({
        "type": "array",
        "items": record(kind),
        "description": "Records, in the order of their ids.",
    });
    let next = json!({
        "type": ["string", "null"],
        "description": "The cursor of the next page; null after the last one. A page with fewer records \
                        than asked for, or none, need not be the last.",
    });
    ObjectSchema::default().required("items", items).required("nextCursor", next).schema()
}

pub(super) fn status() -> Value {
    let commands = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "What can be done with its records.",
    });
    ObjectSchema::default()
        .required("resource", described("string", "The resource's name."))
        .optional("description", described("string", "What its records are."))
        .required("counts", counts())
        .required("commands", commands)
        .required("schema", described("object", "The JSON Schema of its records."))
        .schema()
}

pub(super) fn reverted() -> Value {
    let status = json!({
        "type": "string",
        "enum": ["reverted", "noop"],
        "description": "Whether it was undone, or there was nothing to undo.",
    });
    ObjectSchema::default()
        .required("status", status)
        .required("requestId", described("string", "The requestId that was given."))
        .schema()
}

fn counts() -> Value {
    let total =
        json!({ "type": "integer", "minimum": 0, "description": "How many records there are." });
    let counted = json!({
        "type": "integer",
        "minimum": 0,
        "description": "How many of them are counted in fields: those with the first ids, if there are too \
                        many for one command.",
    });
    let fields = json!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": { "type": "integer", "minimum": 0 },
        },
        "description": "By fields of few values and by value, how many of the counted records have it.",
    });
    let mut counts = ObjectSchema::default()
        .required("total", total)
        .required("counted", counted)
        .required("fields", fields)
        .schema();
    counts["description"] = "What is stored.".into();
    counts
}

fn time(description: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": description })
}
