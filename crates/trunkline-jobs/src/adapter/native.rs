//! Native messages: `{"command", "resource", "id"?, "payload"?, "metadata"?}`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::{ErrorObject, code};

use super::object::Object;
use super::{fault, metadata};
use crate::command::{Command, Metadata, RecordId};

/// A message, not looked into. Other members are nobody's.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    command: Option<&'a RawValue>,
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// Reads a native message.
///
/// # Errors
/// What is wrong, and where: -32700 for what is no JSON, -32600 for what is no command, -32602 for an
/// `id`, `payload` or `metadata` that no command could have. [`NativeReply::error`](super::NativeReply::error)
/// words it.
pub fn read(body: &[u8]) -> Result<Command, ErrorObject> {
    let message: Message<'_> = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    let command = name("command", message.command)?;
    let resource = name("resource", message.resource)?;
    if command.contains('.') {
        let reason = "a command has no dots: namespaces stand in resource";
        return Err(fault::refused(code::INVALID_REQUEST, "Invalid Request", reason));
    }
    let id = message.id.map(|id| record_id("/id", id.get())).transpose()?;
    let mut payload = object("payload", message.payload)?;
    if payload.contains_key("metadata") {
        let reason = "metadata stands beside payload, not in it";
        return Err(fault::invalid("/payload/metadata", reason));
    }
    // Some clients send a record as it is, with its id in it.
    let inner = payload.remove("id").and(message.payload).and_then(id_in);
    let inner = inner.map(|inner| record_id("/payload/id", inner.get())).transpose()?;
    let id = match (id, inner) {
        (Some(id), Some(inner)) if id != inner => {
            let reason = format!("id is {id:?}, and payload.id is {inner:?}: send one of them");
            return Err(fault::invalid("/payload/id", &reason));
        }
        (id, inner) => id.or(inner),
    };
    let metadata = metadata::read(object("metadata", message.metadata)?, Metadata::default())?;
    Ok(Command { command, resource, id, payload, metadata })
}

fn unreadable(error: &serde_json::Error) -> ErrorObject {
    if error.is_data() {
        let reason =
            format!("a command is an object with the strings command and resource: {error}");
        return fault::refused(code::INVALID_REQUEST, "Invalid Request", &reason);
    }
    fault::refused(code::PARSE_ERROR, "Parse error", &format!("the body is not JSON: {error}"))
}

fn name(member: &str, raw: Option<&RawValue>) -> Result<String, ErrorObject> {
    let name = raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    name.filter(|name| !name.is_empty()).ok_or_else(|| {
        let reason =
            format!("{member} is missing, or is no text: a command has command and resource");
        fault::refused(code::INVALID_REQUEST, "Invalid Request", &reason)
    })
}

fn object(member: &str, raw: Option<&RawValue>) -> Result<Map<String, Value>, ErrorObject> {
    let Some(raw) = raw else {
        return Ok(Map::new());
    };
    let object: Result<Object, _> = serde_json::from_str(raw.get());
    let told = |error: serde_json::Error| {
        fault::invalid(
            &format!("/{member}"),
            &format!("{member}: {}", fault::without_place(&error)),
        )
    };
    Ok(object.map_err(told)?.0)
}

/// The id in a payload that is an object, as it was sent.
fn id_in(payload: &RawValue) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Payload<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
    }
    serde_json::from_str::<Payload<'_>>(payload.get()).ok()?.id
}

/// An id from its JSON text.
pub(super) fn record_id(pointer: &str, text: &str) -> Result<RecordId, ErrorObject> {
    let id = serde_json::from_str(text);
    id.map_err(|error: serde_json::Error| fault::invalid(pointer, &fault::without_place(&error)))
}
