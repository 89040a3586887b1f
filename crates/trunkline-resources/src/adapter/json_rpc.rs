//! Calls as commands, and commands as calls.

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::{Call, ErrorObject, FromCall, Id};

use super::members::members;
use super::native::record_id;
use super::{fault, metadata};
use crate::command::{Command, Metadata, Protocol, RecordId};
use crate::excerpt::excerpt;

/// The protocols, as [`Extensions::protocol`](trunkline::Extensions::protocol) names them.
pub(crate) const NATIVE: &str = "native";
#[cfg(feature = "resources")]
pub(crate) const JSON_RPC: &str = "jsonrpc";

/// The command that a call is. `crm.todo.update` is the command `update` of the resource `crm.todo`.
///
/// # Errors
/// -32601 for a method of one segment; -32602 for params that no command has, with the place.
pub fn command_of(call: &Call) -> Result<Command, ErrorObject> {
    let method = call.method();
    let (resource, command) = match method.rsplit_once('.') {
        Some((resource, command)) if is_resource(resource) && !command.is_empty() => {
            (resource.to_owned(), command.to_owned())
        }
        _ => return Err(ErrorObject::method_not_found(&excerpt(&method))),
    };
    let (id, sent, payload) = match call.params() {
        None => (None, (METADATA, None), Map::new()),
        Some(params @ [b'[', ..]) => by_position(&command, read(params)?)?,
        Some(params) => {
            let mut params = members("", "params", read(params)?)?;
            let id = params.take("id").map(|id| record_id("/id", id)).transpose()?;
            let sent = params.take("metadata");
            (id, (METADATA, sent), params.into_map("")?)
        }
    };
    let (pointer, sent) = sent;
    let metadata = metadata::read(pointer, sent, origin(call))?;
    Ok(Command { command, resource, id, payload, metadata })
}

impl<S> FromCall<S> for Command {
    const READS_PARAMS: bool = true;

    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        command_of(call)
    }
}

/// The call that a command is: a request without an id that anybody waits for.
///
/// # Errors
/// -32602 when the params nest deeper than [`Limits::MAX_DEPTH`](trunkline::Limits::MAX_DEPTH).
pub fn call_of(command: &Command) -> Result<Call, ErrorObject> {
    let method = format!("{}.{}", command.resource, command.command);
    let metadata = metadata::written(&command.metadata);
    let has_params = command.id.is_some() || !command.payload.is_empty() || !metadata.is_empty();
    // Without any, a method without params can be called.
    let params = has_params.then_some(Params { command, metadata });
    Call::request(&Id::NULL, &method, &params)
}

/// The params of a command. An id that came as a number is one.
struct Params<'a> {
    command: &'a Command,
    metadata: Map<String, Value>,
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(None)?;
        for (name, value) in &self.command.payload {
            params.serialize_entry(name, value)?;
        }
        if let Some(id) = &self.command.id {
            params.serialize_entry("id", &id.as_json())?;
        }
        if !self.metadata.is_empty() {
            params.serialize_entry("metadata", &self.metadata)?;
        }
        params.end()
    }
}

/// Whether a method's name without its last segment can be a resource's. `rpc` is the protocol's
/// (JSON-RPC 2.0, section 8).
fn is_resource(name: &str) -> bool {
    let mut segments = name.split('.').peekable();
    segments.peek() != Some(&"rpc") && segments.all(|segment| !segment.is_empty())
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

/// The content of params: the id, the metadata with its place, and the payload.
type Content<'a> = (Option<RecordId>, (&'static str, Option<&'a RawValue>), Map<String, Value>);

/// The place of metadata in params by name.
const METADATA: &str = "/metadata";

/// The params that a command may have by their positions: what it is about, and metadata.
fn by_position<'a>(command: &str, params: &'a RawValue) -> Result<Content<'a>, ErrorObject> {
    let params: Vec<&RawValue> = read(params.get().as_bytes())?;
    let name = match command {
        "read" | "delete" => "id",
        "revert" => "requestId",
        // Some clients send no params so.
        _ if params.is_empty() => return Ok((None, (METADATA, None), Map::new())),
        _ => {
            let reason = format!("the params of {} go by name: send an object", excerpt(command));
            return Err(fault::invalid("", &reason));
        }
    };
    let (about, sent) = match params[..] {
        [about] => (about, None),
        [about, sent] => (about, Some(sent).filter(|sent| sent.get() != "null")),
        _ => {
            let reason = format!(
                "{command} takes [{name}, metadata], and there are {} params",
                params.len()
            );
            return Err(fault::invalid("", &reason));
        }
    };
    let mut payload = Map::new();
    let mut id = None;
    match name {
        _ if about.get() == "null" => {}
        "id" => id = Some(record_id("/0", about)?),
        name => {
            payload.insert(name.to_owned(), read(about.get().as_bytes())?);
        }
    }
    Ok((id, ("/1", sent), payload))
}

fn read<'p, T: Deserialize<'p>>(params: &'p [u8]) -> Result<T, ErrorObject> {
    serde_json::from_slice(params)
        .map_err(|error| fault::invalid("", &fault::without_place(&error)))
}
