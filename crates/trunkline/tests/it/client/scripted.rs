//! A transport that plays a script, and keeps what it was to carry.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::time::Instant;
use trunkline::client::{
    Failure, Message, ProtocolError, Transport, TransportError, TransportFuture,
};

/// Clones share what was sent.
#[derive(Clone)]
pub(super) struct Scripted {
    answer: Arc<Script>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

type Script = dyn Fn(usize, &Value) -> Said + Send + Sync;

/// What a server says; none if it never says anything.
pub(super) type Said = Option<Result<Value, Failure>>;

/// A message, and when it was sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) message: Value,
    pub(super) ids: Vec<String>,
}

impl Scripted {
    /// `answer` gets how many messages were sent before, and the message.
    pub(super) fn new(answer: impl Fn(usize, &Value) -> Said + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), sent: Arc::default() }
    }

    /// Every call results in the number behind its method's first letter.
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
        let said = (self.answer)(sent.len(), &message);
        sent.push(Sent { at: Instant::now(), message, ids });
        drop(sent);
        Box::pin(async move {
            match said {
                Some(said) => said.map(|reply| Some(reply.to_string().into())),
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

/// The reply to a call that fails.
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
