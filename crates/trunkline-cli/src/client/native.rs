use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;
use trunkline::client::http::Reply;
use trunkline::client::{Error, Http, ProtocolError, Response, Transport, TransportError};

use crate::client::{CallError, Members};

/// As much of a page is shown to people.
const BEGINNING: usize = 256;

/// The native protocol of commands over HTTP, at one URL.
#[derive(Debug)]
pub(crate) struct Native {
    http: Http,
    /// The longest that one request may take.
    timeout: Duration,
}

/// Why a command has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NativeError {
    #[error("{}", _0.text)]
    Refused(Refusal),
    /// There is no answer, or none of this protocol.
    #[error("{0}")]
    Call(#[from] CallError),
}

/// `{"error": "…"}`, and a status.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
    /// As it was received.
    pub(crate) json: Box<RawValue>,
}

impl Native {
    pub(crate) fn new(http: Http, timeout: Duration) -> Self {
        Self { http, timeout }
    }

    /// Posts a JSON text. Answers the `result`, or the whole of a reply that has none; nothing if the
    /// reply is empty, as to `delete`.
    pub(crate) async fn post(&self, body: String) -> Result<Option<Box<RawValue>>, NativeError> {
        let reply = self.http.post(HeaderMap::new(), Bytes::from(body));
        let Some(json) = self.answer(reply).await? else { return Ok(None) };
        let members = serde_json::from_str::<Members<Box<RawValue>>>(json.get());
        let members = members.map(|Members(members)| members).unwrap_or_default();
        let result = members.into_iter().find(|(name, _)| name == "result");
        Ok(Some(result.map_or(json, |(_, result)| result)))
    }

    /// What is published there.
    pub(crate) async fn get(&self) -> Result<Option<Box<RawValue>>, NativeError> {
        self.answer(self.http.get(HeaderMap::new())).await
    }

    async fn answer(
        &self,
        reply: impl Future<Output = Result<Reply, TransportError>>,
    ) -> Result<Option<Box<RawValue>>, NativeError> {
        let after = self.timeout;
        timeout(after, read(reply)).await.unwrap_or_else(|_| {
            let target = self.http.target().into_owned();
            Err(CallError::new(TransportError::Timeout { target, after }, None).into())
        })
    }
}

async fn read(
    reply: impl Future<Output = Result<Reply, TransportError>>,
) -> Result<Option<Box<RawValue>>, NativeError> {
    let reply = reply.await.map_err(|error| CallError::new(error, None))?;
    let status = reply.status;
    let failed = |error: Error| NativeError::Call(CallError::new(error, Some(status)));
    if status.is_client_error() || status.is_server_error() {
        return Err(refusal(reply).await.map_or_else(failed, NativeError::Refused));
    }
    let Some(body) = reply.json().await.map_err(|error| failed(error.into()))? else {
        return Ok(None);
    };
    let malformed = |error: serde_json::Error| ProtocolError::Result { reason: error.to_string() };
    serde_json::from_slice(&body).map_err(|error| failed(malformed(error).into()))
}

/// Why the server does not do it, in the words of its protocol.
async fn refusal(mut reply: Reply) -> Result<Refusal, Error> {
    #[derive(Deserialize)]
    struct Failed {
        error: String,
    }
    let status = reply.status;
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await? {
        body.extend_from_slice(&chunk);
    }
    if let Ok(Failed { error: text }) = serde_json::from_slice(&body)
        && let Ok(json) = serde_json::from_slice(&body)
    {
        return Ok(Refusal { status, text, json });
    }
    // As of a server that has no such path.
    let body = Bytes::from(body);
    match Response::parse(&body).map(|response| response.outcome.as_result().err().cloned()) {
        Ok(Some(error)) => Err(Error::Rpc(error)),
        _ => {
            let beginning =
                String::from_utf8_lossy(&body[..body.len().min(BEGINNING)]).into_owned();
            Err(ProtocolError::Refused { status, beginning }.into())
        }
    }
}
