//! Schemas of command params.

use serde_json::{Value, json};

use super::parts::{EQUAL, ObjectSchema, described};
use crate::command::RecordId;
use crate::declaration::types::RecordType;

pub(super) fn create(kind: &RecordType) -> Value {
    let id = id("The id of the new record. Generated if omitted.");
    let mut input = ObjectSchema::default().optional("id", id);
    for field in kind.fields() {
        let add = if field.required() { ObjectSchema::required } else { ObjectSchema::optional };
        input = add(input, field.name(), field.stored());
    }
    input.optional("metadata", metadata(&json!({ "requestId": request_id() }))).schema()
}

pub(super) fn read() -> Value {
    with_id().optional("metadata", metadata(&json!({}))).schema()
}

pub(super) fn update(kind: &RecordType) -> Value {
    let mut input = with_id();
    for field in kind.fields() {
        input = input.optional(field.name(), field.changed());
    }
    input.optional("metadata", metadata_of_change()).schema()
}

pub(super) fn delete() -> Value {
    with_id().optional("metadata", metadata_of_change()).schema()
}

pub(super) fn list() -> Value {
    page().optional("metadata", metadata_of_page()).schema()
}

/// Criteria are members of the params, next to `limit` and `cursor`. If a field has one of these two names, the page is
/// requested in `metadata`.
pub(super) fn filter(kind: &RecordType) -> Value {
    let time = |of: &str| described("string", &format!("{of} {EQUAL}"));
    let mut input = page()
        .optional("id", id(&format!("The id. {EQUAL}")))
        .optional("version", described("integer", &format!("The version. {EQUAL}")))
        .optional("createdAt", time("Time of creation."))
        .optional("updatedAt", time("Time of the last change."));
    for field in kind.fields() {
        input = input.optional(field.name(), field.criterion());
    }
    let mut schema = input.optional("metadata", metadata_of_page()).schema();
    schema["description"] =
        "The criteria, all of which a record must match. A record that lacks the field does not match."
            .into();
    schema
}

pub(super) fn status() -> Value {
    ObjectSchema::default().optional("metadata", metadata(&json!({}))).schema()
}

pub(super) fn revert() -> Value {
    let request_id = described("string", "The metadata.requestId of the request to undo.");
    ObjectSchema::default()
        .required("requestId", request_id)
        .optional("metadata", metadata(&json!({})))
        .schema()
}

fn with_id() -> ObjectSchema {
    ObjectSchema::default().required("id", id("The id of the record."))
}

fn page() -> ObjectSchema {
    ObjectSchema::default().optional("limit", limit()).optional("cursor", cursor())
}

/// The schema of metadata, which may have other members.
fn metadata(properties: &Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "description": "Metadata of the command.",
    })
}

fn metadata_of_page() -> Value {
    metadata(&json!({ "limit": limit(), "cursor": cursor() }))
}

fn metadata_of_change() -> Value {
    let if_version = json!({
        "type": "integer",
        "minimum": 1,
        "description": "The expected version of the record. If it has another one, the command fails.",
    });
    metadata(&json!({ "requestId": request_id(), "ifVersion": if_version }))
}

fn id(description: &str) -> Value {
    json!({
        "type": ["string", "number"],
        "minLength": 1,
        "maxLength": RecordId::MAX_BYTES,
        "description": description,
    })
}

fn request_id() -> Value {
    let description = "A unique id of this request. A repetition with the same id has no further effect and \
                       returns the same reply; revert undoes the request.";
    described("string", description)
}

fn limit() -> Value {
    json!({ "type": "integer", "minimum": 1, "description": "Maximum number of records." })
}

fn cursor() -> Value {
    json!({
        "type": ["string", "null"],
        "description": "The nextCursor of the previous page. Omit it for the first page.",
    })
}
