//! The methods of an agent, and the events of its turns.

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
use trunkline::client::{Http, Transport, TransportError};

pub(crate) use self::event::{
    Answer, Event, Pending, Step, StepError, ToolCall, TurnEvent, result,
};
pub(crate) use self::turn::Turn;
use crate::client::{CallError, call};

/// A client of an agent at an endpoint such as `/api`.
#[derive(Debug)]
pub(crate) struct Agent {
    http: Http,
    /// The timeout of a call, and of the start of a turn.
    timeout: Duration,
    last_id: AtomicI64,
}

/// The params of `agent.chat`.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ChatParams<'p> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conversation_id: Option<&'p str>,
    /// The token of a call that requires confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confirm: Option<&'p str>,
}

#[derive(Serialize)]
struct Request<'p> {
    jsonrpc: &'static str,
    id: i64,
    method: &'static str,
    params: &'p ChatParams<'p>,
}

impl Agent {
    /// The maximum size of a reply in bytes. A turn contains each result three times.
    pub(crate) const MAX_REPLY: usize = 256 << 20;

    pub(crate) fn new(http: Http, timeout: Duration) -> Self {
        Self { http, timeout, last_id: AtomicI64::new(0) }
    }

    /// Calls a method other than `agent.chat`. Returns the JSON text of its result.
    ///
    /// # Errors
    ///
    /// When the call fails.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<Box<RawValue>, CallError> {
        call(self.http.clone(), self.timeout, method, params).await
    }

    /// Begins a turn, which ends after its last event, and is cancelled when dropped.
    ///
    /// # Errors
    ///
    /// When the server does not reply.
    pub(crate) async fn chat(&self, params: &ChatParams<'_>) -> Result<Turn, CallError> {
        const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let request = Request { jsonrpc: "2.0", id, method: "agent.chat", params };
        let body = serde_json::to_vec(&request).expect("text and numbers are JSON");
        let headers = HeaderMap::from_iter([(ACCEPT, EVENTS)]);
        let target = || self.http.target().into_owned();
        let after = self.timeout;
        let reply = timeout(after, self.http.post(headers, Bytes::from(body))).await;
        let reply =
            reply.map_err(|_| TransportError::Timeout { target: target(), after, source: None });
        let reply = reply.and_then(|reply| reply).map_err(|error| CallError::new(error, None))?;
        Ok(Turn::new(reply, Id::from(id), target()))
    }
}
