//! `GET /forms`: what can be asked for natively.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use trunkline::{Effect, Format, Registered, Rpc, Schema};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Form<'a> {
    /// The operation's name, which is the method of JSON-RPC.
    method: &'a str,
    command: &'a str,
    resource: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    /// What the params are, by name: natively, `id` and `metadata` stand beside the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a Value>,
}

/// The document, which does not change while a server runs.
pub(super) fn document(rpc: &Rpc) -> Bytes {
    let forms: Vec<Form<'_>> =
        rpc.operations().iter().filter_map(|operation| form(operation)).collect();
    let post = |path, what| json!({ "href": path, "method": "POST", "description": what });
    let media_types: Vec<&str> = Format::ALL.iter().map(|format| format.media_type()).collect();
    let document = json!({
        "endpoints": [
            post("/execute", "Executes a command: {command, resource, id?, payload?, metadata?}, or JSON-RPC 2.0"),
            post("/repeat", "Executes a command that may have been executed before"),
            post("/revert", "Undoes a request by its metadata.requestId: {requestId}"),
            { "href": "/forms", "method": "GET", "description": "This document" },
        ],
        "mediaTypes": media_types,
        "forms": forms,
    });
    Bytes::from(document.to_string())
}

/// None of an operation that is of no resource.
fn form(operation: &Registered) -> Option<Form<'_>> {
    let method = operation.name();
    let (resource, command) = method.rsplit_once('.').filter(|(resource, _)| *resource != "rpc")?;
    let description = operation.description();
    Some(Form {
        method,
        command,
        resource,
        title: description.title.as_deref(),
        description: description.text.as_deref(),
        read_only: description.effect == Some(Effect::Reads),
        destructive: description.effect == Some(Effect::Destroys),
        idempotent: description.idempotent,
        input: description.input.as_ref().map(Schema::as_value),
        output: description.output.as_ref().map(Schema::as_value),
    })
}
