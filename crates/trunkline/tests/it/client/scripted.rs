//! A transport whose replies a function computes. It records messages.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::time::Instant;
use trunkline::client::{
    Failure, Message, ProtocolError, Transport, TransportError, TransportFuture,
};

/// Clones share the recorded messages.
#[derive(Clone)]
pub(super) struct Scripted {
    answer: Arc<Script>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

type Script = dyn Fn(usize, &Value) -> ScriptedReply + Send + Sync;

/// The reply of a server. `None` if it never replies.
pub(super) type ScriptedReply = Option<Result<Value, Failure>>;

/// A message and the time when it was sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) message: Value,
    pub(super) ids: Vec<String>,
}

impl Scripted {
    /// Creates a transport. `answer` receives the number of previous messages, and the message.
    pub(super) fn new(
        answer: impl Fn(usize, &Value) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        Self { answer: Arc::new(answer), sent: Arc::default() }
    }

    /// Creates a transport on which the result of each call is the number after the first letter of its method.
    pub(super) fn numbering() -> Self {
        Self::new(|_, message| Some(Ok(numbers(message))))
    }

    pub(super) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }
}

impl Transport for Scripted {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        let ids = message.ids.iter().map(ToString::to_string).collect();
        let message: Value = serde_json::from_slice(&message.body).unwrap();
        let mut sent = self.sent.lock().unwrap();
        let reply = (self.answer)(sent.len(), &message);
        sent.push(Sent { at: Instant::now(), message, ids });
        drop(sent);
        Box::pin(async move {
            match reply {
                Some(reply) => reply.map(|reply| Some(reply.to_string().into())),
                None => std::future::pending().await,
            }
        })
    }

    fn target(&self) -> Cow<'_, str> {
        Cow::Borrowed("the script")
    }
}

/// Replies to a call, or to a batch, last call first.
pub(super) fn numbers(message: &Value) -> Value {
    let Value::Array(calls) = message else {
        let method = message["method"].as_str().unwrap();
        let number: i64 = method[1..].parse().unwrap();
        return json!({ "jsonrpc": "2.0", "id": message["id"], "result": number });
    };
    calls.iter().rev().filter(|call| call.get("id").is_some()).map(numbers).collect()
}

/// A reply with an error.
pub(super) fn failing(message: &Value, code: i64, data: &Value) -> Value {
    let error = json!({ "code": code, "message": "no", "data": data });
    json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })
}

pub(super) fn refused() -> Failure {
    let source = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    TransportError::Connect { target: "the script".to_owned(), source: Arc::new(source) }.into()
}

pub(super) fn broken() -> Failure {
    TransportError::Broken { target: "the script".to_owned(), source: None }.into()
}

pub(super) fn unavailable(status: u16) -> Failure {
    let status = http::StatusCode::from_u16(status).unwrap();
    ProtocolError::Refused { status, beginning: String::new() }.into()
}
