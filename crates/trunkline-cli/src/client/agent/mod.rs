//! An agent's methods, and what it tells while it answers.

mod event;
mod turn;

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::timeout;
use trunkline::Id;
use trunkline::client::{Client, ClientConfig, Http, Transport, TransportError};

pub(crate) use self::event::{Answer, Called, Event, Pending, Step, StepError, Told, result};
pub(crate) use self::turn::Turn;
use crate::client::{CallError, Observed};

/// An agent behind an endpoint like `/api`.
#[derive(Debug)]
pub(crate) struct Agent {
    http: Http,
    /// The longest that a call may take, or a turn to begin.
    timeout: Duration,
    last_id: AtomicI64,
}

/// What is said to an agent.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Said<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conversation_id: Option<&'s str>,
    /// The token of a call that waits to be confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confirm: Option<&'s str>,
}

#[derive(Serialize)]
struct Request<'s> {
    jsonrpc: &'static str,
    id: i64,
    method: &'static str,
    params: &'s Said<'s>,
}

impl Agent {
    /// The most bytes of a turn, or of another answer, for the settings of the connection: a turn tells each
    /// result three times.
    pub(crate) const MAX_REPLY: usize = 256 << 20;

    pub(crate) fn new(http: Http, timeout: Duration) -> Self {
        Self { http, timeout, last_id: AtomicI64::new(0) }
    }

    /// Calls another method than `agent.chat`, and answers its result as it was received.
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<Box<RawValue>, CallError> {
        let transport = Observed::new(self.http.clone());
        let settings = ClientConfig { timeout: self.timeout, ..ClientConfig::default() };
        let client = Client::with_config(transport.clone(), settings);
        let called = client.call(method, params).await;
        called.map_err(|error| CallError { error, status: transport.status() })
    }

    /// Says something. The turn is over when its events are, and is cancelled when it is dropped.
    ///
    /// # Errors
    ///
    /// When there is no answer, or when it is none.
    pub(crate) async fn chat(&self, said: &Said<'_>) -> Result<Turn, CallError> {
        const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request { jsonrpc: "2.0", id, method: "agent.chat", params: said };
        let body = serde_json::to_vec(&request).expect("text and numbers are JSON");
        let headers = HeaderMap::from_iter([(ACCEPT, EVENTS)]);
        let target = || self.http.target().into_owned();
        let after = self.timeout;
        let reply = timeout(after, self.http.post(headers, Bytes::from(body))).await;
        let reply = reply.map_err(|_| TransportError::Timeout { target: target(), after });
        let reply = reply.and_then(|reply| reply).map_err(|error| CallError::new(error, None))?;
        Ok(Turn::new(reply, Id::from(id), target()))
    }
}
