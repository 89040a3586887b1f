//! Native messages: `{"command", "resource", "id"?, "payload"?, "metadata"?}`.

use serde_json::value::RawValue;
use trunkline::{ErrorObject, code};

use super::members::{Members, members};
use super::{fault, metadata};
use crate::command::{Command, Metadata, RecordId};
use crate::excerpt::excerpt;

/// The members of a message.
const MEMBERS: [&str; 6] = ["command", "resource", "id", "payload", "metadata", "requestId"];

/// Reads a native message.
///
/// # Errors
/// -32700 for invalid JSON, -32600 for an invalid command, -32602 with the place for an invalid `id`, `payload` or
/// `metadata`. [`NativeReply::error`](super::NativeReply::error) converts it to a reply.
pub fn read(body: &[u8]) -> Result<Command, ErrorObject> {
    let mut message: Members<'_> =
        serde_json::from_slice(body).map_err(|error| unreadable(body, &error))?;
    let command = name("command", message.take("command"))?;
    let resource = name("resource", message.take("resource"))?;
    if command.contains('.') {
        return Err(invalid_command(
            "command must not contain dots; put the namespace into resource",
        ));
    }
    let (id, payload, sent) =
        (message.take("id"), message.take("payload"), message.take("metadata"));
    // Job control clients send it at the top level.
    let top_level = message.take("requestId");
    if let Some(reason) = message.names().find_map(misspelled) {
        return Err(invalid_command(&reason));
    }
    let mut payload = payload.map_or_else(
        || Ok(Members::default()),
        |payload| members("/payload", "payload", payload),
    )?;
    if payload.take("metadata").is_some() {
        let reason = "metadata belongs next to payload, not inside it";
        return Err(fault::invalid("/payload/metadata", reason));
    }
    // Some clients send a whole record, with its id.
    let inner = payload.take("id").map(|id| record_id("/payload/id", id)).transpose()?;
    let id = match (id.map(|id| record_id("/id", id)).transpose()?, inner) {
        (Some(id), Some(inner)) if id != inner => {
            let reason = format!("id is {id}, but payload.id is {inner}; send only one");
            return Err(fault::invalid("/payload/id", &reason));
        }
        (id, inner) => id.or(inner),
    };
    let payload = payload.into_map("/payload")?;
    let mut metadata = metadata::read("/metadata", sent, Metadata::default())?;
    if let Some(top_level) = top_level {
        let top_level = metadata::request_id("/requestId", top_level)?;
        if metadata.request_id.as_ref().is_some_and(|inner| *inner != top_level) {
            let reason = "requestId and metadata.requestId differ; send only one";
            return Err(fault::invalid("/requestId", reason));
        }
        metadata.request_id = Some(top_level);
    }
    Ok(Command { command, resource, id, payload, metadata })
}

fn unreadable(body: &[u8], error: &serde_json::Error) -> ErrorObject {
    let is_object = body.trim_ascii_start().starts_with(b"{");
    match error.is_data() {
        true if is_object => invalid_command(&fault::without_place(error)),
        true => invalid_command("a command must be an object: {\"command\", \"resource\", …}"),
        false => not_json(error),
    }
}

pub(crate) fn not_json(error: &serde_json::Error) -> ErrorObject {
    fault::refused(
        code::PARSE_ERROR,
        "Parse error",
        &format!("the body is not valid JSON: {error}"),
    )
}

fn name(member: &str, json: Option<&RawValue>) -> Result<String, ErrorObject> {
    let name = json.and_then(|json| serde_json::from_str::<String>(json.get()).ok());
    name.filter(|name| !name.is_empty()).ok_or_else(|| {
        invalid_command(&format!(
            "{member} is missing or not a string; a command has command and resource"
        ))
    })
}

/// The error message for a misspelled member. Ignoring it could disable a protection.
fn misspelled(name: &str) -> Option<String> {
    let normalized = metadata::normalized(name);
    if let Some(known) = MEMBERS.into_iter().find(|known| metadata::normalized(known) == normalized)
    {
        return Some(format!("unknown member {:?}; did you mean {known}?", excerpt(name)));
    }
    let known = metadata::similar_name(name)?;
    Some(format!("{known} belongs in metadata, not next to command"))
}

fn invalid_command(reason: &str) -> ErrorObject {
    fault::refused(code::INVALID_REQUEST, "Invalid Request", reason)
}

/// Reads a record id.
pub(super) fn record_id(pointer: &str, json: &RawValue) -> Result<RecordId, ErrorObject> {
    RecordId::of_json(json).map_err(|reason| fault::invalid(pointer, &reason))
}
