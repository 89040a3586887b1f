//! Conversion of calls to commands and back.

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
#[cfg(feature = "records")]
pub(crate) const JSON_RPC: &str = "jsonrpc";

/// Converts a call to a command. `crm.todo.update` is the command `update` of the resource `crm.todo`.
///
/// # Errors
/// -32601 for a method with one segment; -32602 for invalid params, with the place.
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

/// Converts a command to a call, a request with the id null.
///
/// # Errors
/// -32602 if the params nest deeper than [`Limits::MAX_DEPTH`](trunkline::Limits::MAX_DEPTH).
pub fn call_of(command: &Command) -> Result<Call, ErrorObject> {
    let method = format!("{}.{}", command.resource, command.command);
    let metadata = metadata::to_map(&command.metadata);
    let has_params = command.id.is_some() || !command.payload.is_empty() || !metadata.is_empty();
    // Methods without params reject an empty object.
    let params = has_params.then_some(Params { command, metadata });
    Call::request(&Id::NULL, &method, &params)
}

/// The params of a command. An id that was sent as a number stays a number.
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

/// Whether a method's name without its last segment is a valid resource name. `rpc` is reserved
/// (JSON-RPC 2.0, section 8).
fn is_resource(name: &str) -> bool {
    let mut segments = name.split('.').peekable();
    segments.peek() != Some(&"rpc") && segments.all(|segment| !segment.is_empty())
}

/// The metadata of the call's protocol.
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

/// Reads params by position: the id or `requestId`, and metadata.
fn by_position<'a>(command: &str, params: &'a RawValue) -> Result<Content<'a>, ErrorObject> {
    let params: Vec<&RawValue> = read(params.get().as_bytes())?;
    let name = match command {
        "read" | "delete" => "id",
        "revert" => "requestId",
        // Some clients send an empty array for no params.
        _ if params.is_empty() => return Ok((None, (METADATA, None), Map::new())),
        _ => {
            let reason = format!("{} takes params by name; send an object", excerpt(command));
            return Err(fault::invalid("", &reason));
        }
    };
    let (about, sent) = match params[..] {
        [about] => (about, None),
        [about, sent] => (about, Some(sent).filter(|sent| sent.get() != "null")),
        _ => {
            let reason = format!("{command} takes [{name}, metadata], got {} params", params.len());
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
