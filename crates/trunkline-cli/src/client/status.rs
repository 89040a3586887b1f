//! Calls over HTTP that report the status of the reply.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use trunkline::client::{
    Client, ClientConfig, Error, Http, Message, ProtocolError, Transport, TransportFuture,
};
use trunkline_mcp::client::RequestError;

/// The error of a call, and the HTTP status if there was a reply.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(crate) struct CallError {
    pub(crate) error: Error,
    pub(crate) status: Option<StatusCode>,
}

impl CallError {
    pub(crate) fn new(error: impl Into<Error>, status: Option<StatusCode>) -> Self {
        Self { error: error.into(), status }
    }
}

impl From<RequestError> for CallError {
    fn from(RequestError { error, status, .. }: RequestError) -> Self {
        Self { error, status }
    }
}

/// An HTTP transport that keeps the status of the first reply, for error messages.
#[derive(Debug, Clone)]
pub(crate) struct StatusTransport {
    http: Http,
    status: Arc<OnceLock<StatusCode>>,
}

/// Calls a method over HTTP, and returns the JSON text of its result.
///
/// # Errors
///
/// When the call fails.
pub(crate) async fn call(
    http: Http,
    timeout: Duration,
    method: &str,
    params: impl Serialize,
) -> Result<Box<RawValue>, CallError> {
    let (client, transport) = StatusTransport::client(http, timeout);
    let called = client.call(method, params).await;
    called.map_err(|error| CallError { error, status: transport.status() })
}

impl StatusTransport {
    /// Creates a client and its transport.
    pub(crate) fn client(http: Http, timeout: Duration) -> (Client, Self) {
        let transport = Self { http, status: Arc::default() };
        let config = ClientConfig { timeout, ..ClientConfig::default() };
        (Client::with_config(transport.clone(), config), transport)
    }

    pub(crate) fn status(&self) -> Option<StatusCode> {
        self.status.get().copied()
    }
}

impl Transport for StatusTransport {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(async move {
            let reply = self.http.post(message.headers, message.body).await?;
            let status = *self.status.get_or_init(|| reply.status);
            match reply.json().await? {
                None if !message.ids.is_empty() => Err(ProtocolError::Empty { status }.into()),
                body => Ok(body),
            }
        })
    }

    fn target(&self) -> Cow<'_, str> {
        self.http.target()
    }
}
