use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{ACCEPT, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::value::RawValue;

use super::http::{Http, Reply, TransportError};
use super::response::{self, Response};
use super::sse::Events;

/// Calls methods, each in an HTTP request of its own.
#[derive(Debug)]
pub(crate) struct Rpc {
    pub(super) http: Http,
    accept: Accept,
    last_id: AtomicU64,
}

/// In which forms a reply may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accept {
    /// As one JSON text.
    Json,
    /// Also as an event of a stream, behind notifications.
    JsonOrEvents,
}

/// What a method has answered with.
#[derive(Debug)]
pub(crate) struct Answer {
    /// As it was received.
    pub(crate) result: Box<RawValue>,
    pub(crate) headers: HeaderMap,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// No answer came.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// What came is no answer.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The answer is an error.
    #[error(transparent)]
    Rpc(#[from] RpcError),
}

/// The error object of a response.
#[derive(Debug, thiserror::Error)]
#[error("error {code}: {message}")]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Box<RawValue>>,
    /// The whole object, as it was received.
    pub(crate) object: Box<RawValue>,
    pub(crate) status: StatusCode,
}

/// How a reply breaks JSON-RPC 2.0, or its way over HTTP.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProtocolError {
    #[error("HTTP {status}: it redirects to {to:?}, which is not followed")]
    Redirect { status: StatusCode, to: String },
    #[error("HTTP {status}, without a JSON-RPC answer: {beginning:?}")]
    Refused { status: StatusCode, beginning: String },
    #[error("HTTP {status}, with no answer to the call")]
    Empty { status: StatusCode },
    #[error("the answer is {media_type:?}, not JSON: {beginning:?}")]
    MediaType { media_type: String, beginning: String },
    #[error("the answer is no JSON-RPC 2.0 response: {reason}: {beginning:?}")]
    Malformed { reason: String, beginning: String },
    #[error("the answer is to another call: its id is {found:?}, not {expected}")]
    WrongId { expected: u64, found: String },
    #[error("the event stream ended without an answer")]
    NoEvent,
}

#[derive(Serialize)]
struct Request<'r> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'r RawValue>,
}

impl Rpc {
    pub(crate) fn new(http: Http, accept: Accept) -> Self {
        Self { http, accept, last_id: AtomicU64::new(0) }
    }

    /// Calls a method. `params` is an object or an array.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection; the method may have run.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: Option<&RawValue>,
        headers: HeaderMap,
    ) -> Result<Answer, CallError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let reply = self.send(Some(id), method, params, headers).await?;
        let headers = reply.headers.clone();
        let result = self.result(id, reply).await?;
        Ok(Answer { result, headers })
    }

    /// Sends a notification, which nothing answers.
    pub(crate) async fn notify(
        &self,
        method: &str,
        params: Option<&RawValue>,
        headers: HeaderMap,
    ) -> Result<(), CallError> {
        let reply = self.send(None, method, params, headers).await?;
        let status = reply.status;
        let is_json = is_json(&reply);
        if status.is_success() && !is_json {
            return Ok(());
        }
        let body = reply.body().await?;
        match response::parse(&body) {
            Ok(Response { outcome: Err(error), .. }) if is_json => Err(error.at(status).into()),
            _ if status.is_success() => Ok(()),
            _ => Err(ProtocolError::Refused { status, beginning: beginning(&body) }.into()),
        }
    }

    async fn send(
        &self,
        id: Option<u64>,
        method: &str,
        params: Option<&RawValue>,
        mut headers: HeaderMap,
    ) -> Result<Reply, CallError> {
        let request = Request { jsonrpc: "2.0", id, method, params };
        let body = serde_json::to_string(&request).expect("text and numbers are JSON");
        let accept = match self.accept {
            Accept::Json => "application/json",
            Accept::JsonOrEvents => "application/json, text/event-stream",
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let reply = self.http.post(headers, body).await?;
        if reply.status.is_redirection() {
            let to = reply.header(&LOCATION).unwrap_or_default().to_owned();
            return Err(ProtocolError::Redirect { status: reply.status, to }.into());
        }
        Ok(reply)
    }

    async fn result(&self, id: u64, reply: Reply) -> Result<Box<RawValue>, CallError> {
        let status = reply.status;
        let media_type = reply.media_type().unwrap_or_default();
        let is_stream = media_type == "text/event-stream" && self.accept == Accept::JsonOrEvents;
        if is_stream && status.is_success() {
            return from_events(id, reply).await;
        }
        let is_json = is_json(&reply);
        let body = reply.body().await?;
        if !status.is_success() {
            let refused = || ProtocolError::Refused { status, beginning: beginning(&body) };
            let response = response::parse(&body).ok().filter(|_| is_json).ok_or_else(refused)?;
            response.check_id(id)?;
            let error = response.outcome.err().ok_or_else(refused)?;
            return Err(error.at(status).into());
        }
        if body.is_empty() {
            return Err(ProtocolError::Empty { status }.into());
        }
        if !is_json {
            let beginning = beginning(&body);
            return Err(ProtocolError::MediaType { media_type, beginning }.into());
        }
        let response = response::parse(&body).map_err(|reason| malformed(reason, &body))?;
        response.check_id(id)?;
        response.outcome.map_err(|error| error.at(status).into())
    }
}

/// Reads events until the one with the answer.
async fn from_events(id: u64, mut reply: Reply) -> Result<Box<RawValue>, CallError> {
    let status = reply.status;
    let mut events = Events::default();
    while let Some(chunk) = reply.chunk().await? {
        events.push(&chunk);
        while let Some(data) = events.next() {
            let data = data.as_bytes();
            // Notifications and, before 2026-07-28, requests for what this client never offered.
            if response::is_request(data) {
                continue;
            }
            let response = response::parse(data).map_err(|reason| malformed(reason, data))?;
            response.check_id(id)?;
            return response.outcome.map_err(|error| error.at(status).into());
        }
    }
    Err(ProtocolError::NoEvent.into())
}

fn is_json(reply: &Reply) -> bool {
    const TYPES: [&str; 3] =
        ["application/json", "application/json-rpc", "application/jsonrequest"];
    reply.media_type().is_some_and(|found| TYPES.contains(&found.as_str()))
}

fn malformed(reason: String, body: &[u8]) -> ProtocolError {
    ProtocolError::Malformed { reason, beginning: beginning(body) }
}

/// Enough of a body to recognise what it is.
fn beginning(body: &[u8]) -> String {
    const LENGTH: usize = 200;
    let text = String::from_utf8_lossy(&body[..body.len().min(LENGTH)]);
    if body.len() > LENGTH { format!("{text}…") } else { text.into_owned() }
}
