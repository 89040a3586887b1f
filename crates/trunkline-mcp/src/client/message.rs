//! JSON-RPC messages: those of the client, written, and those of the server, classified.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::client::{Error as CallError, ProtocolError, Response};
use trunkline::{ErrorObject, Outcome};

use crate::model::Message;

/// The params of any request.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<&'p RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uri: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task_id: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) level: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) r#ref: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) argument: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) context: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) notifications: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input_responses: Option<BTreeMap<String, Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_state: Option<Box<RawValue>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(super) meta: Option<Map<String, Value>>,
}

pub(super) fn request(id: i64, method: &str, params: &impl Serialize) -> Bytes {
    let text = Message::new(Some(id), method, Some(params)).text();
    text.expect("text and numbers are JSON").into()
}

pub(super) fn response(id: &RawValue, result: Result<&RawValue, &ErrorObject>) -> Bytes {
    let outcome = match result {
        Ok(result) => Outcome::from_writer(|out| out.extend_from_slice(result.get().as_bytes())),
        Err(error) => Outcome::error(error.clone()),
    };
    outcome.into_response(id.get().as_bytes()).into()
}

/// The elements of a JSON array. `None` if there are more than `max`.
pub(super) fn elements(
    array: &[u8],
    max: usize,
) -> Result<Option<Vec<&RawValue>>, serde_json::Error> {
    struct Elements(usize);

    impl<'de> Visitor<'de> for Elements {
        type Value = Option<Vec<&'de RawValue>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while elements.len() < self.0 {
                match array.next_element()? {
                    Some(element) => elements.push(element),
                    None => return Ok(Some(elements)),
                }
            }
            let mut rest = 0;
            while array.next_element::<IgnoredAny>()?.is_some() {
                rest += 1;
            }
            Ok((rest == 0).then_some(elements))
        }
    }

    serde_json::Deserializer::from_slice(array).deserialize_seq(Elements(max))
}

/// A message of the server.
#[derive(Debug)]
pub(super) enum Incoming {
    Response(Response),
    Request(ServerRequest),
    Notification(Notification),
}

/// A request of the server.
#[derive(Debug)]
pub(super) struct ServerRequest {
    /// A string or a number.
    pub(super) id: Box<RawValue>,
    pub(super) method: String,
    pub(super) params: Option<Box<RawValue>>,
}

#[derive(Debug)]
pub(super) struct Notification {
    pub(super) method: String,
    pub(super) params: Option<Box<RawValue>>,
}

/// The messages of a body: one, or those of a batch, which clients of 2025-03-26 must accept ("Batching").
///
/// # Errors
/// When the body is a malformed batch.
pub(super) fn split(body: &Bytes) -> Result<Vec<Bytes>, ProtocolError> {
    const MAX_BATCH: usize = 1_000;
    if !body.trim_ascii_start().starts_with(b"[") {
        return Ok(vec![body.clone()]);
    }
    let malformed = |reason: String| {
        let beginning = String::from_utf8_lossy(body).chars().take(100).collect();
        ProtocolError::Malformed { reason, beginning }
    };
    let messages = elements(body, MAX_BATCH).map_err(|error| malformed(error.to_string()))?;
    let messages = messages
        .filter(|messages| !messages.is_empty())
        .ok_or_else(|| malformed(format!("a batch must have 1 to {MAX_BATCH} messages")))?;
    Ok(messages.iter().map(|message| body.slice_ref(message.get().as_bytes())).collect())
}

impl Incoming {
    /// Classifies a message.
    ///
    /// # Errors
    /// When the text is not a message.
    pub(super) fn parse(body: &Bytes) -> Result<Self, ProtocolError> {
        #[derive(Deserialize)]
        struct Members {
            method: Option<String>,
            id: Option<Box<RawValue>>,
            params: Option<Box<RawValue>>,
        }
        let Ok(Members { method: Some(method), id, params }) = serde_json::from_slice(body) else {
            return Response::parse(body).map(Self::Response);
        };
        match id {
            None => Ok(Self::Notification(Notification { method, params })),
            Some(id) if id.get().starts_with(['"', '-']) || is_number(&id) => {
                Ok(Self::Request(ServerRequest { id, method, params }))
            }
            Some(_) => Err(ProtocolError::Malformed {
                reason: "`id` of a request is not a string or number".to_owned(),
                beginning: method,
            }),
        }
    }
}

fn is_number(id: &RawValue) -> bool {
    id.get().starts_with(|first: char| first.is_ascii_digit())
}

/// The result of an outcome, as received.
pub(super) fn result(outcome: &Outcome) -> Result<Box<RawValue>, CallError> {
    let json = outcome.as_result().map_err(|error| CallError::Application(error.clone()))?;
    let malformed = |error: serde_json::Error| ProtocolError::Result { reason: error.to_string() };
    Ok(serde_json::from_slice(json).map_err(malformed)?)
}
