use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::timeout;
use trunkline::client::http::{Reply, Settings};
use trunkline::client::{Error, Failure, Http, ProtocolError, Response, Transport, TransportError};
use trunkline::http::{EventReader, EventTooLarge, MessageEvent};
use trunkline::{Id, Outcome};

use crate::client::{CallError, Members};

/// Requests over Streamable HTTP, one after the other: each has headers of its own, and a reply that
/// is a JSON text, or an event of a stream behind notifications.
#[derive(Debug)]
pub(super) struct Exchange {
    http: Http,
    /// The longest that one request may take.
    timeout: Duration,
    last_id: AtomicI64,
}

/// What a method has answered with.
#[derive(Debug)]
pub(super) struct Answer {
    /// As it was received.
    pub(super) result: Box<RawValue>,
    pub(super) headers: HeaderMap,
}

/// The maximum number of pages of a list.
pub(super) const MAX_PAGES: usize = 100;

/// Why an MCP request has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McpError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("cannot begin MCP")]
    Begin(#[source] CallError),
    #[error("the server speaks other versions of MCP: {}", .0.join(", "))]
    Versions(Vec<String>),
    #[error("the result of {method} does not conform to MCP: {reason}")]
    Malformed { method: &'static str, reason: String },
    #[error("the list of tools has no end: it was left after {MAX_PAGES} pages")]
    Endless,
}

#[derive(Serialize)]
struct Request<'r> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'r RawValue>,
}

impl Exchange {
    pub(super) fn new(http: Http, timeout: Duration) -> Self {
        Self { http, timeout, last_id: AtomicI64::new(0) }
    }

    /// Calls a method. `params` is an object or an array.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection; the method may have run.
    pub(super) async fn call(
        &self,
        method: &str,
        params: Option<&RawValue>,
        headers: HeaderMap,
    ) -> Result<Answer, CallError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request { jsonrpc: "2.0", id: Some(id), method, params };
        let mut status = None;
        let answer = async {
            let reply = self.post(&request, headers).await?;
            status = Some(reply.status);
            let headers = reply.headers.clone();
            Ok(Answer { result: result(&Id::from(id), reply).await?, headers })
        };
        let answer = self.in_time(answer).await;
        answer.map_err(|error| CallError::new(error, status))
    }

    /// Sends a notification, which nothing answers unless it is refused.
    pub(super) async fn notify(&self, method: &str, headers: HeaderMap) -> Result<(), CallError> {
        let request = Request { jsonrpc: "2.0", id: None, method, params: None };
        let mut status = None;
        let done = async {
            let reply = self.post(&request, headers).await?;
            status = Some(reply.status);
            match reply.json().await {
                Ok(Some(body)) => raw(&Response::parse(&body)?.outcome).map(drop),
                // Servers answer notifications with what they like.
                Ok(None) | Err(Failure::Protocol(ProtocolError::MediaType { .. })) => Ok(()),
                Err(failure) => Err(failure.into()),
            }
        };
        let done = self.in_time(done).await;
        done.map_err(|error| CallError::new(error, status))
    }

    /// Sends a DELETE, and waits for its answer, whatever it is.
    pub(super) async fn delete(&self, headers: HeaderMap, patience: Duration) {
        drop(timeout(patience.min(self.timeout), self.http.delete(headers)).await);
    }

    async fn post(
        &self,
        request: &Request<'_>,
        mut headers: HeaderMap,
    ) -> Result<Reply, TransportError> {
        const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, EITHER);
        let body = serde_json::to_vec(request).expect("text and numbers are JSON");
        self.http.post(headers, Bytes::from(body)).await
    }

    async fn in_time<T>(
        &self,
        exchange: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let after = self.timeout;
        timeout(after, exchange).await.unwrap_or_else(|_| {
            let target = self.http.target().into_owned();
            Err(TransportError::Timeout { target, after }.into())
        })
    }
}

async fn result(id: &Id, reply: Reply) -> Result<Box<RawValue>, Error> {
    let status = reply.status;
    if status.is_success() && reply.media_type() == "text/event-stream" {
        return from_events(id, reply).await;
    }
    let Some(body) = reply.json().await? else {
        return Err(ProtocolError::Empty { status }.into());
    };
    raw(&Response::parse(&body)?.to(id)?)
}

/// Reads events until the one with the answer.
async fn from_events(id: &Id, mut reply: Reply) -> Result<Box<RawValue>, Error> {
    let mut events = EventReader::new(Settings::default().max_reply);
    let malformed = |error: EventTooLarge| ProtocolError::Result { reason: error.to_string() };
    while let Some(chunk) = reply.chunk().await? {
        events.push(&chunk);
        while let Some(MessageEvent { name, data, .. }) = events.next_event().map_err(malformed)? {
            let is_message = name == "message" && !data.is_empty();
            // Notifications and, before 2026-07-28, requests for features that this client does not announce.
            if is_message && !is_request(&data) {
                return raw(&Response::parse(&Bytes::from(data))?.to(id)?);
            }
        }
    }
    Err(ProtocolError::Missing { id: id.to_string() }.into())
}

/// The result, as it was received.
fn raw(outcome: &Outcome) -> Result<Box<RawValue>, Error> {
    let json = outcome.as_result().map_err(|error| Error::Application(error.clone()))?;
    let malformed = |error: serde_json::Error| ProtocolError::Result { reason: error.to_string() };
    Ok(serde_json::from_slice(json).map_err(malformed)?)
}

/// Whether a text is a request or a notification.
fn is_request(text: &str) -> bool {
    let members: Result<Members<IgnoredAny>, _> = serde_json::from_str(text);
    members.is_ok_and(|Members(members)| members.iter().any(|(name, _)| name == "method"))
}

/// Parses the result of a method.
pub(super) fn read<'a, T: Deserialize<'a>>(
    method: &'static str,
    answer: &'a Answer,
) -> Result<T, McpError> {
    serde_json::from_str(answer.result.get()).map_err(|error| malformed(method, error))
}

pub(super) fn malformed(method: &'static str, error: serde_json::Error) -> McpError {
    McpError::Malformed { method, reason: error.to_string() }
}
