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
/// The problem and its place: -32700 for invalid JSON, -32600 for an invalid command, -32602 for an
/// `id`, `payload` or `metadata` that no command could have. [`NativeReply::error`](super::NativeReply::error)
/// renders it.
pub fn read(body: &[u8]) -> Result<Command, ErrorObject> {
    let mut message: Members<'_> =
        serde_json::from_slice(body).map_err(|error| unreadable(body, &error))?;
    let command = name("command", message.take("command"))?;
    let resource = name("resource", message.take("resource"))?;
    if command.contains('.') {
        return Err(no_command("a command has no dots: namespaces stand in resource"));
    }
    let (id, payload, sent) =
        (message.take("id"), message.take("payload"), message.take("metadata"));
    // Where the clients of job control send it.
    let beside = message.take("requestId");
    if let Some(slip) = message.names().find_map(slip) {
        return Err(no_command(&slip));
    }
    let mut payload = payload.map_or_else(
        || Ok(Members::default()),
        |payload| members("/payload", "payload", payload),
    )?;
    if payload.take("metadata").is_some() {
        let reason = "metadata stands beside payload, not in it";
        return Err(fault::invalid("/payload/metadata", reason));
    }
    // Some clients send a whole record, with its id.
    let inner = payload.take("id").map(|id| record_id("/payload/id", id)).transpose()?;
    let id = match (id.map(|id| record_id("/id", id)).transpose()?, inner) {
        (Some(id), Some(inner)) if id != inner => {
            let reason = format!("id is {id}, and payload.id is {inner}: send one of them");
            return Err(fault::invalid("/payload/id", &reason));
        }
        (id, inner) => id.or(inner),
    };
    let payload = payload.into_map("/payload")?;
    let mut metadata = metadata::read("/metadata", sent, Metadata::default())?;
    if let Some(beside) = beside {
        let beside = metadata::request_id("/requestId", beside)?;
        if metadata.request_id.as_ref().is_some_and(|inner| *inner != beside) {
            let reason = "requestId and metadata.requestId differ: send one of them";
            return Err(fault::invalid("/requestId", reason));
        }
        metadata.request_id = Some(beside);
    }
    Ok(Command { command, resource, id, payload, metadata })
}

fn unreadable(body: &[u8], error: &serde_json::Error) -> ErrorObject {
    let is_object = body.trim_ascii_start().starts_with(b"{");
    match error.is_data() {
        true if is_object => no_command(&fault::without_place(error)),
        true => no_command("a command is an object: {\"command\", \"resource\", …}"),
        false => not_json(error),
    }
}

pub(crate) fn not_json(error: &serde_json::Error) -> ErrorObject {
    fault::refused(code::PARSE_ERROR, "Parse error", &format!("the body is not JSON: {error}"))
}

fn name(member: &str, json: Option<&RawValue>) -> Result<String, ErrorObject> {
    let name = json.and_then(|json| serde_json::from_str::<String>(json.get()).ok());
    name.filter(|name| !name.is_empty()).ok_or_else(|| {
        no_command(&format!(
            "{member} is missing, or is no text: a command has command and resource"
        ))
    })
}

/// The error of a misspelled member, which could disable a protection if it were ignored.
fn slip(name: &str) -> Option<String> {
    let plain = metadata::plain(name);
    if let Some(known) = MEMBERS.into_iter().find(|known| metadata::plain(known) == plain) {
        return Some(format!("there is no {:?}: write {known}", excerpt(name)));
    }
    let meant = metadata::meant(name)?;
    Some(format!("{meant} stands in metadata, not beside command"))
}

fn no_command(reason: &str) -> ErrorObject {
    fault::refused(code::INVALID_REQUEST, "Invalid Request", reason)
}

/// Reads an id.
pub(super) fn record_id(pointer: &str, json: &RawValue) -> Result<RecordId, ErrorObject> {
    RecordId::of_json(json).map_err(|reason| fault::invalid(pointer, &reason))
}
