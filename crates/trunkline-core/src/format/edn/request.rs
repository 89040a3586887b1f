//! Conversion of messages in EDN to JSON.

use bytes::Bytes;
use trunkline_edn::json::{self, ToJson};
use trunkline_edn::{Limits as Depth, Value, read_with};

use super::fault;
use crate::error::{ErrorObject, code};
use crate::format::encoding::Encoding;
use crate::format::kind::Format;
use crate::limits::calls::Limits;

/// Converts a message to JSON. Also returns the encoding of each request.
///
/// A request that cannot be represented in JSON becomes a request without params, which is rejected when it is run,
/// so that the other requests of its batch are not affected.
pub fn transcribe(
    body: &[u8],
    limits: &Limits,
    reply: Format,
) -> Result<(Bytes, Vec<Encoding>), ErrorObject> {
    let message = read(body, limits)?;
    let mut json = String::with_capacity(body.len());
    let members = match message {
        Value::Vector(members) => members.into_vec(),
        Value::List(members) => members.into_vec(),
        Value::Set(members) => members.into_vec(),
        request => {
            let encoding = transcribe_request(request, reply, &mut json);
            return Ok((json.into(), vec![encoding]));
        }
    };
    json.push('[');
    let mut encodings = Vec::with_capacity(members.len());
    // One request over the limit is enough for the batch to be rejected.
    for member in members.into_iter().take(limits.batch_requests.saturating_add(1)) {
        if !encodings.is_empty() {
            json.push(',');
        }
        encodings.push(transcribe_request(member, reply, &mut json));
    }
    json.push(']');
    Ok((json.into(), encodings))
}

/// Converts a message that contains no calls to JSON.
pub fn to_json(body: &[u8], limits: &Limits) -> Result<Bytes, ErrorObject> {
    let message = read(body, limits)?;
    let mut json = String::with_capacity(body.len());
    json::write(&message, &ToJson::default(), &mut json)
        .map_err(|error| fault::unconvertible(error, None))?;
    Ok(json.into())
}

fn read(body: &[u8], limits: &Limits) -> Result<Value, ErrorObject> {
    let text = std::str::from_utf8(body)
        .map_err(|error| unreadable("the body is not UTF-8", error.valid_up_to()))?;
    // The EDN reader would read it as a symbol.
    if text.starts_with('\u{feff}') {
        return Err(unreadable("the body starts with a byte-order mark", 0));
    }
    let depth = Depth { depth: limits.depth, ..Depth::default() };
    read_with(text, &depth).map_err(|error| fault::unreadable(&error))
}

fn transcribe_request(request: Value, reply: Format, out: &mut String) -> Encoding {
    let written = json::write(&request, &ToJson::default(), out);
    let members = Members::of(request);
    let Err(error) = written else {
        return Encoding::of_edn(members.id, members.params, reply);
    };
    let member = |value: &Option<Value>| json::to_string(value.as_ref()?).ok();
    let method = member(&members.method).filter(|method| method.starts_with('"'));
    let id = member(&members.id).filter(|id| !id.starts_with(['[', '{', 't', 'f']));
    // A request without an id is a notification, provided that it has a method.
    let is_notification = members.id.is_none() && method.is_some();
    let method = method.unwrap_or_else(|| "\"\"".to_owned());
    out.push_str("{\"jsonrpc\":\"2.0\",\"method\":");
    out.push_str(&method);
    if !is_notification {
        out.push_str(",\"id\":");
        out.push_str(id.as_deref().unwrap_or("null"));
    }
    out.push('}');
    let id = members.id.filter(|_| id.is_some());
    Encoding::refused(id, fault::unconvertible(error, None), reply)
}

/// The members of a request. A request with duplicate members is invalid, and none of them is used.
#[derive(Default)]
struct Members {
    method: Option<Value>,
    params: Option<Value>,
    id: Option<Value>,
}

impl Members {
    fn of(request: Value) -> Self {
        let mut members = Self::default();
        let Value::Map(map) = request else { return members };
        let mut has_duplicates = false;
        for (key, value) in map {
            let slot = match json::key_text(&key).as_deref() {
                Ok("method") => &mut members.method,
                Ok("params") => &mut members.params,
                Ok("id") => &mut members.id,
                _ => continue,
            };
            has_duplicates |= slot.replace(value).is_some();
        }
        if has_duplicates { Self { id: Some(Value::Nil), ..Self::default() } } else { members }
    }
}

fn unreadable(reason: &str, offset: usize) -> ErrorObject {
    let data = serde_json::json!({ "reason": reason, "offset": offset });
    ErrorObject::new(code::PARSE_ERROR, "Parse error").with_data(&data)
}
