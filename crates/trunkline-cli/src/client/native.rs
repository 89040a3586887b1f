use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;
use trunkline::client::http::Reply;
use trunkline::client::{Error, Http, ProtocolError, Response, Transport, TransportError};

use crate::client::CallError;

/// The maximum length of an excerpt of another reply, in bytes.
const MAX_EXCERPT: usize = 256;

/// A client of the native command protocol over HTTP, at one URL.
#[derive(Debug)]
pub(crate) struct Native {
    http: Http,
    /// The timeout of one request.
    timeout: Duration,
}

/// The error of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NativeError {
    #[error("{}", _0.text)]
    Refused(Refusal),
    /// The server does not reply, or not according to the protocol.
    #[error("{0}")]
    Call(#[from] CallError),
}

/// An error reply, `{"error": "…"}`, and its status.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
    /// The JSON text of the reply.
    pub(crate) json: Box<RawValue>,
}

impl Native {
    pub(crate) fn new(http: Http, timeout: Duration) -> Self {
        Self { http, timeout }
    }

    /// Posts a JSON text. Returns the `result`, or the whole reply to `revert`; `None` for status 204, the reply to
    /// `delete`.
    pub(crate) async fn post(&self, body: String) -> Result<Option<Box<RawValue>>, NativeError> {
        let reply = self.http.post(HeaderMap::new(), Bytes::from(body));
        let Success { status, json } = self.receive(reply).await?;
        match json {
            Some(json) => result(status, json).map(Some),
            None if status == StatusCode::NO_CONTENT => Ok(None),
            None => Err(failed(status, ProtocolError::Empty { status })),
        }
    }

    /// Gets the document at the URL.
    pub(crate) async fn get(&self) -> Result<Option<Box<RawValue>>, NativeError> {
        Ok(self.receive(self.http.get(HeaderMap::new())).await?.json)
    }

    async fn receive(
        &self,
        reply: impl Future<Output = Result<Reply, TransportError>>,
    ) -> Result<Success, NativeError> {
        let after = self.timeout;
        timeout(after, read(reply)).await.unwrap_or_else(|_| {
            let target = self.http.target().into_owned();
            Err(CallError::new(TransportError::Timeout { target, after, source: None }, None)
                .into())
        })
    }
}

/// A reply with a status of success.
struct Success {
    status: StatusCode,
    json: Option<Box<RawValue>>,
}

async fn read(
    reply: impl Future<Output = Result<Reply, TransportError>>,
) -> Result<Success, NativeError> {
    let mut reply = reply.await.map_err(|error| CallError::new(error, None))?;
    let status = reply.status;
    if status.is_client_error() || status.is_server_error() {
        let mut body = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(|error| failed(status, error))? {
            body.extend_from_slice(&chunk);
        }
        let beginning =
            || String::from_utf8_lossy(&body[..body.len().min(MAX_EXCERPT)]).into_owned();
        return Err(refusal(status, &body).unwrap_or_else(|| {
            failed(status, ProtocolError::Refused { status, beginning: beginning() })
        }));
    }
    let json = match reply.json().await.map_err(|error| failed(status, error))? {
        Some(body) => Some(serde_json::from_slice(&body).map_err(|error| {
            failed(status, ProtocolError::Result { reason: error.to_string() })
        })?),
        None => None,
    };
    Ok(Success { status, json })
}

/// Reads the result of a command. An endpoint of JSON-RPC rejects commands with status 200.
fn result(status: StatusCode, json: Box<RawValue>) -> Result<Box<RawValue>, NativeError> {
    let members = serde_json::from_str::<IndexMap<String, Box<RawValue>>>(json.get());
    let mut members = members.unwrap_or_default();
    if let Some(result) = members.swap_remove("result") {
        return Ok(result);
    }
    if members.contains_key("status") && members.contains_key("requestId") {
        return Ok(json);
    }
    Err(refusal(status, json.get().as_bytes()).unwrap_or_else(|| {
        let reason = "expected a result, a status and a requestId, or an error";
        failed(status, ProtocolError::Result { reason: reason.to_owned() })
    }))
}

/// Reads an error of the native protocol, or of JSON-RPC, as of a server without this path.
fn refusal(status: StatusCode, body: &[u8]) -> Option<NativeError> {
    #[derive(Deserialize)]
    struct Failed {
        error: String,
    }
    if let Ok(Failed { error: text }) = serde_json::from_slice(body)
        && let Ok(json) = serde_json::from_slice(body)
    {
        return Some(NativeError::Refused(Refusal { status, text, json }));
    }
    let response = Response::parse(&Bytes::copy_from_slice(body)).ok()?;
    let error = response.outcome.as_result().err().cloned()?;
    Some(failed(status, Error::Rpc(error)))
}

fn failed(status: StatusCode, error: impl Into<Error>) -> NativeError {
    CallError::new(error, Some(status)).into()
}
