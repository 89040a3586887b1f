//! Conversion of requests in EDN to JSON.

use bytes::Bytes;
use trunkline_core::format::SentRequest;
use trunkline_core::outcome::Native;

use super::fault::unconvertible;
use crate::json::{self, ToJson};
use crate::value::Value;

/// Converts a body to JSON. Also returns the parts of each request that its text lacks.
pub(super) fn transcribe(body: Value, batch_requests: usize) -> (Bytes, Vec<SentRequest>) {
    let mut json = String::new();
    let members = match body {
        Value::Vector(members) => members.into_vec(),
        Value::List(members) => members.into_vec(),
        Value::Set(members) => members.into_vec(),
        request => {
            let request = transcribe_request(request, &mut json);
            return (json.into(), vec![request]);
        }
    };
    json.push('[');
    let mut requests = Vec::with_capacity(members.len());
    // One request over the limit is enough for the batch to be rejected.
    for member in members.into_iter().take(batch_requests.saturating_add(1)) {
        if !requests.is_empty() {
            json.push(',');
        }
        requests.push(transcribe_request(member, &mut json));
    }
    json.push(']');
    (json.into(), requests)
}

fn transcribe_request(request: Value, out: &mut String) -> SentRequest {
    let written = json::write(&request, &ToJson::default(), out);
    let members = Members::of(request);
    let native = |value: Value| -> Native { Box::new(value) };
    let Err(error) = written else {
        let (id, params) = (members.id.map(native), members.params.map(native));
        return SentRequest { id, params, refusal: None };
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
    let id = members.id.filter(|_| id.is_some()).map(native);
    SentRequest { id, params: None, refusal: Some(unconvertible(error, None)) }
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
