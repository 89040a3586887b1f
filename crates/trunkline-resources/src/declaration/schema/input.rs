//! Schemas of the params of commands.

use serde_json::{Value, json};

use super::parts::{EQUAL, ObjectSchema, described};
use crate::command::RecordId;
use crate::declaration::types::ResourceType;

pub(super) fn create(kind: &ResourceType) -> Value {
    let id = id("The new record's id. One is made if there is none.");
    let mut input = ObjectSchema::default().optional("id", id);
    for field in kind.fields() {
        let add = if field.required() { ObjectSchema::required } else { ObjectSchema::optional };
        input = add(input, field.name(), field.stored());
    }
    input.optional("metadata", metadata(&json!({ "requestId": repeated() }))).schema()
}

pub(super) fn read() -> Value {
    addressed().optional("metadata", metadata(&json!({}))).schema()
}

pub(super) fn update(kind: &ResourceType) -> Value {
    let mut input = addressed();
    for field in kind.fields() {
        input = input.optional(field.name(), field.changed());
    }
    input.optional("metadata", metadata_of_change()).schema()
}

pub(super) fn delete() -> Value {
    addressed().optional("metadata", metadata_of_change()).schema()
}

pub(super) fn list() -> Value {
    paged().optional("metadata", metadata_of_page()).schema()
}

/// The criteria stand beside `limit` and `cursor`, which give way to fields of their names: they may
/// always stand in `metadata`.
pub(super) fn filter(kind: &ResourceType) -> Value {
    let time = |of: &str| described("string", &format!("{of} {EQUAL}"));
    let mut input = paged()
        .optional("id", id(&format!("The record's id. {EQUAL}")))
        .optional("version", described("integer", &format!("The record's version. {EQUAL}")))
        .optional("createdAt", time("When it was created."))
        .optional("updatedAt", time("When it was changed last."));
    for field in kind.fields() {
        input = input.optional(field.name(), field.criterion());
    }
    let mut schema = input.optional("metadata", metadata_of_page()).schema();
    schema["description"] =
        "What the records have that are wanted. What a record does not have is no match: a criterion that \
         no field is called finds nothing."
            .into();
    schema
}

pub(super) fn status() -> Value {
    ObjectSchema::default().optional("metadata", metadata(&json!({}))).schema()
}

pub(super) fn revert() -> Value {
    let request_id = described("string", "The metadata.requestId of what is to be undone.");
    ObjectSchema::default()
        .required("requestId", request_id)
        .optional("metadata", metadata(&json!({})))
        .schema()
}

fn addressed() -> ObjectSchema {
    ObjectSchema::default().required("id", id("The record's id."))
}

fn paged() -> ObjectSchema {
    ObjectSchema::default().optional("limit", limit()).optional("cursor", cursor())
}

/// It may have more members than are known here.
fn metadata(properties: &Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "description": "What goes along with the command.",
    })
}

fn metadata_of_page() -> Value {
    metadata(&json!({ "limit": limit(), "cursor": cursor() }))
}

fn metadata_of_change() -> Value {
    let if_version = json!({
        "type": "integer",
        "minimum": 1,
        "description": "The version that the record must have, or nothing is done.",
    });
    metadata(&json!({ "requestId": repeated(), "ifVersion": if_version }))
}

fn id(description: &str) -> Value {
    json!({
        "type": ["string", "number"],
        "minLength": 1,
        "maxLength": RecordId::MAX_BYTES,
        "description": description,
    })
}

fn repeated() -> Value {
    let description = "A name of your own for this request. Sent again with the same name, it is answered \
                       as before and acts once; revert undoes what it did.";
    described("string", description)
}

fn limit() -> Value {
    json!({ "type": "integer", "minimum": 1, "description": "Most records of the page." })
}

fn cursor() -> Value {
    json!({
        "type": ["string", "null"],
        "description": "The nextCursor of the page before. Without it, the first page is answered.",
    })
}
