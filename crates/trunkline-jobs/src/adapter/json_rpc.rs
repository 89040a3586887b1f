//! Calls as commands, and commands as calls.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::{Call, ErrorObject, Id};

use super::native::record_id;
use super::object::Object;
use super::{fault, metadata};
use crate::command::{Command, Metadata, Protocol, RecordId};

/// The protocols, as [`Extensions::protocol`](trunkline::Extensions::protocol) names them.
pub(crate) const NATIVE: &str = "native";
pub(crate) const JSON_RPC: &str = "jsonrpc";

/// The command that a call is. `crm.todo.update` is the command `update` of the resource `crm.todo`.
///
/// # Errors
/// -32601 for a method of one segment; -32602 for params that no command has, with the place.
pub fn command_of(call: &Call) -> Result<Command, ErrorObject> {
    let method = call.method();
    let (resource, command) = match method.rsplit_once('.') {
        Some((resource, command)) if !resource.is_empty() && !command.is_empty() => {
            (resource.to_owned(), command.to_owned())
        }
        _ => return Err(ErrorObject::method_not_found(&method)),
    };
    let (id, mut payload) = match call.params() {
        None => (None, Map::new()),
        Some(params @ [b'[', ..]) => by_position(&command, params)?,
        Some(params) => by_name(call, params)?,
    };
    let sent = match payload.remove("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(sent)) => sent,
        Some(_) => return Err(fault::invalid("/metadata", "metadata is an object")),
    };
    let metadata = metadata::read(sent, origin(call))?;
    Ok(Command { command, resource, id, payload, metadata })
}

/// The call that a command is: a request without an id that anybody waits for.
///
/// # Errors
/// -32602 when the params nest deeper than [`Limits::MAX_DEPTH`](trunkline::Limits::MAX_DEPTH).
pub fn call_of(command: &Command) -> Result<Call, ErrorObject> {
    let mut params = command.payload.clone();
    if let Some(id) = &command.id {
        params.insert("id".to_owned(), id.as_str().into());
    }
    let metadata = metadata::written(&command.metadata);
    if !metadata.is_empty() {
        params.insert("metadata".to_owned(), Value::Object(metadata));
    }
    let method = format!("{}.{}", command.resource, command.command);
    // Without any, a method without params can be called.
    let params = (!params.is_empty()).then_some(params);
    Call::request(&Id::NULL, &method, &params)
}

/// How the call came.
fn origin(call: &Call) -> Metadata {
    if call.extensions().protocol() == NATIVE {
        return Metadata::default();
    }
    let id = call.id().and_then(|id| RawValue::from_string(id.as_raw().to_owned()).ok());
    Metadata {
        protocol: Protocol::JsonRpc,
        version: Some("2.0"),
        jsonrpc_id: id,
        ..Metadata::default()
    }
}

fn by_name(
    call: &Call,
    params: &[u8],
) -> Result<(Option<RecordId>, Map<String, Value>), ErrorObject> {
    let mut payload = object("", params)?;
    let id = match payload.remove("id") {
        None | Some(Value::Null) => None,
        Some(id) => Some(member_id(call, &id)?),
    };
    Ok((id, payload))
}

/// The only param that a command may have by its position.
fn by_position(
    command: &str,
    params: &[u8],
) -> Result<(Option<RecordId>, Map<String, Value>), ErrorObject> {
    let name = match command {
        "read" | "delete" => "id",
        "revert" => "requestId",
        _ => {
            let reason = format!("the params of {command} go by name: send an object");
            return Err(fault::invalid("", &reason));
        }
    };
    let params: Vec<&RawValue> = read(params)?;
    let [param] = params[..] else {
        let reason = format!("{command} takes [{name}], and there are {} params", params.len());
        return Err(fault::invalid("", &reason));
    };
    match (name, param.get()) {
        ("id", "null") => Ok((None, Map::new())),
        ("id", id) => Ok((Some(record_id("/id", id)?), Map::new())),
        (name, text) => {
            let value = read(text.as_bytes())?;
            Ok((None, Map::from_iter([(name.to_owned(), value)])))
        }
    }
}

/// An id of a number is the text of the number as it was sent.
fn member_id(call: &Call, value: &Value) -> Result<RecordId, ErrorObject> {
    let part = call.members().find(|(name, _)| name == "id").map(|(_, part)| call.text(part));
    let sent = part.and_then(|text| std::str::from_utf8(text).ok());
    record_id("/id", sent.unwrap_or(&value.to_string()))
}

fn object(pointer: &str, params: &[u8]) -> Result<Map<String, Value>, ErrorObject> {
    let object: Object = serde_json::from_slice(params)
        .map_err(|error| fault::invalid(pointer, &fault::without_place(&error)))?;
    Ok(object.0)
}

fn read<'p, T: Deserialize<'p>>(params: &'p [u8]) -> Result<T, ErrorObject> {
    serde_json::from_slice(params)
        .map_err(|error| fault::invalid("", &fault::without_place(&error)))
}
