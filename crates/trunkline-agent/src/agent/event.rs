//! The events of a running turn.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::reply::{ChatReply, Step};

/// An event of a turn. In JSON, `type` names the variant.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The progress of the turn, for people.
    Status {
        /// The message.
        text: String,
    },
    /// A piece of the answer.
    Token {
        /// The piece.
        text: String,
    },
    /// The model requests a call, which is executed or refused. A [`ToolResult`](Self::ToolResult) always follows.
    ToolCall {
        /// The id of the call, unique in the turn.
        call_id: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// A call has completed or was refused.
    ToolResult {
        /// The id of the call.
        call_id: String,
        /// The result or the error.
        #[serde(flatten)]
        step: Box<Step>,
    },
    /// The turn is complete and saved.
    Done(Box<ChatReply>),
}

impl Event {
    pub(super) fn call(call_id: &str, tool: &str, arguments: &Map<String, Value>) -> Self {
        let (call_id, tool) = (call_id.to_owned(), tool.to_owned());
        Self::ToolCall { call_id, tool, arguments: arguments.clone() }
    }

    /// The name of the event in a stream.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Token { .. } => "token",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult { .. } => "tool_result",
            Self::Done(_) => "done",
        }
    }

    /// Serializes the event as JSON.
    ///
    /// # Errors
    /// If a result is not valid JSON, which no operation returns.
    pub fn to_json(&self) -> serde_json::Result<Box<RawValue>> {
        serde_json::value::to_raw_value(self)
    }
}

/// The maximum time to wait for a slow receiver.
pub(super) const SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// The sending end of a turn's events. The default discards them.
///
/// A transport puts it into the extensions of an `agent.chat` call, and reads from the receiver during the call.
#[derive(Debug, Clone, Default)]
pub struct EventSender(Option<mpsc::Sender<Event>>);

impl EventSender {
    /// Creates a sender and its receiver. While `capacity` events are unread, the turn waits up to 5 s to send the
    /// next one, and then drops it.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<Event>) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        (Self(Some(sender)), receiver)
    }

    pub(crate) async fn send(&self, event: impl FnOnce() -> Event) {
        self.send_until(Instant::now() + SEND_TIMEOUT, event).await;
    }

    /// Sends an event; waits no longer than until `end`.
    pub(super) async fn send_until(&self, end: Instant, event: impl FnOnce() -> Event) {
        if let Some(sender) = &self.0 {
            let end = end.min(Instant::now() + SEND_TIMEOUT);
            // If the receiver is closed, the turn is dropped soon.
            let _ = timeout_at(end, sender.send(event())).await;
        }
    }
}
