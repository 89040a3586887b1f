use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout;
use trunkline::client::http::{HttpClientConfig, Reply};
use trunkline::client::{
    Error as CallError, Failure, Http, ProtocolError, Response, Transport, TransportError,
};
use trunkline::http::{EventReader, EventTooLarge, MessageEvent};
use trunkline::{Id, Outcome};

/// Configuration of a [`Client`](super::Client).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct McpClientConfig {
    /// The client's name, as the server sees it.
    pub name: String,
    /// The client's version, as the server sees it.
    pub version: String,
    /// The deadline of each request. Default 30 s.
    pub timeout: Duration,
}

/// Requests over Streamable HTTP. Each has its own headers, and a reply that is a JSON text, or an
/// event of a stream, following notifications.
#[derive(Debug)]
pub(super) struct Exchange {
    http: Http,
    settings: McpClientConfig,
    last_id: AtomicI64,
}

/// The result of a method.
#[derive(Debug)]
pub(super) struct Answer {
    /// As received.
    pub(super) result: Box<RawValue>,
    pub(super) headers: HeaderMap,
}

/// Why an MCP request has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A request has failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The first requests have failed: the URL is not an MCP endpoint, or it refuses this client.
    #[error("cannot begin MCP")]
    Initialize(#[source] RequestError),
    /// The server supports other revisions only.
    #[error("the server speaks other versions of MCP: {}", .0.join(", "))]
    Versions(Vec<String>),
    /// A result is not what the specification requires.
    #[error("the result of {method} does not conform to MCP: {reason}")]
    Malformed {
        /// The method.
        method: &'static str,
        /// The defect.
        reason: String,
    },
    /// The list of tools does not end.
    #[error("the list of tools has more than {0} pages")]
    TooManyPages(usize),
}

/// Why a request has no result, with the HTTP status if there was a reply.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct RequestError {
    /// The error.
    pub error: CallError,
    /// The status of the reply.
    pub status: Option<StatusCode>,
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

impl McpClientConfig {
    /// A client of this name and version, with the defaults.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), timeout: Duration::from_secs(30) }
    }
}

impl Exchange {
    pub(super) fn new(http: Http, settings: McpClientConfig) -> Self {
        Self { http, settings, last_id: AtomicI64::new(0) }
    }

    pub(super) fn client_info(&self) -> Value {
        json!({ "name": self.settings.name, "version": self.settings.version })
    }

    /// Calls a method. `params` is an object or an array.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection; the method may have run.
    pub(super) async fn call(
        &self,
        method: &str,
        params: &RawValue,
        headers: HeaderMap,
    ) -> Result<Answer, RequestError> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request { jsonrpc: "2.0", id: Some(id), method, params: Some(params) };
        let mut status = None;
        let answer = async {
            let reply = self.post(&request, headers).await?;
            status = Some(reply.status);
            let headers = reply.headers.clone();
            Ok(Answer { result: result(&Id::from(id), reply).await?, headers })
        };
        let answer = self.in_time(answer).await;
        answer.map_err(|error| RequestError { error, status })
    }

    /// Sends a notification. Only a refusal has a reply.
    pub(super) async fn notify(
        &self,
        method: &str,
        headers: HeaderMap,
    ) -> Result<(), RequestError> {
        let request = Request { jsonrpc: "2.0", id: None, method, params: None };
        let mut status = None;
        let done = async {
            let reply = self.post(&request, headers).await?;
            status = Some(reply.status);
            match reply.json().await {
                Ok(Some(body)) => raw(&Response::parse(&body)?.outcome).map(drop),
                // Servers answer notifications with any body.
                Ok(None) | Err(Failure::Protocol(ProtocolError::MediaType { .. })) => Ok(()),
                Err(failure) => Err(failure.into()),
            }
        };
        let done = self.in_time(done).await;
        done.map_err(|error| RequestError { error, status })
    }

    /// Sends a DELETE, and waits for its reply.
    pub(super) async fn delete(&self, headers: HeaderMap, patience: Duration) {
        drop(timeout(patience.min(self.settings.timeout), self.http.delete(headers)).await);
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
        exchange: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let after = self.settings.timeout;
        timeout(after, exchange).await.unwrap_or_else(|_| {
            let target = self.http.target().into_owned();
            Err(TransportError::Timeout { target, after }.into())
        })
    }
}

async fn result(id: &Id, reply: Reply) -> Result<Box<RawValue>, CallError> {
    let status = reply.status;
    if status.is_success() && reply.media_type() == "text/event-stream" {
        return from_events(id, reply).await;
    }
    let Some(body) = reply.json().await? else {
        return Err(ProtocolError::Empty { status }.into());
    };
    raw(&Response::parse(&body)?.outcome_of(id)?)
}

/// Reads events until the one with the answer.
async fn from_events(id: &Id, mut reply: Reply) -> Result<Box<RawValue>, CallError> {
    let mut events = EventReader::new(HttpClientConfig::default().max_reply);
    let malformed = |error: EventTooLarge| ProtocolError::Result { reason: error.to_string() };
    while let Some(chunk) = reply.chunk().await? {
        events.push(&chunk);
        while let Some(MessageEvent { name, data, .. }) = events.next_event().map_err(malformed)? {
            let is_message = name == "message" && !data.is_empty();
            // Notifications and, before 2026-07-28, requests for features that this client does not announce.
            if is_message && !is_request(&data) {
                return raw(&Response::parse(&Bytes::from(data))?.outcome_of(id)?);
            }
        }
    }
    Err(ProtocolError::Missing { id: id.to_string() }.into())
}

/// The result, as received.
fn raw(outcome: &Outcome) -> Result<Box<RawValue>, CallError> {
    let json = outcome.as_result().map_err(|error| CallError::Application(error.clone()))?;
    let malformed = |error: serde_json::Error| ProtocolError::Result { reason: error.to_string() };
    Ok(serde_json::from_slice(json).map_err(malformed)?)
}

/// Whether a message is a request or a notification.
fn is_request(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Method {
        #[serde(rename = "method")]
        _method: IgnoredAny,
    }
    serde_json::from_str::<Method>(text).is_ok()
}

/// Parses the result of a method.
pub(super) fn read<'a, T: Deserialize<'a>>(
    method: &'static str,
    answer: &'a Answer,
) -> Result<T, Error> {
    serde_json::from_str(answer.result.get()).map_err(|error| malformed(method, error))
}

pub(super) fn malformed(method: &'static str, error: serde_json::Error) -> Error {
    Error::Malformed { method, reason: error.to_string() }
}
