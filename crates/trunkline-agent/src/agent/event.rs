//! What happens in a turn, as it happens.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::reply::{ChatReply, Step};

/// What happens in a turn. As JSON, `type` tells which it is.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// What is being done, for people.
    Status {
        /// A sentence.
        text: String,
    },
    /// A piece of the answer.
    Token {
        /// The piece.
        text: String,
    },
    /// A call that the model wants: it begins now or after others, or is refused. A
    /// [`ToolResult`](Self::ToolResult) follows in any case.
    ToolCall {
        /// What tells it apart from the others of the turn.
        call_id: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// A call has ended, or was refused.
    ToolResult {
        /// That of the call.
        call_id: String,
        /// What came of it.
        #[serde(flatten)]
        step: Box<Step>,
    },
    /// The turn is over, and kept.
    Done(Box<ChatReply>),
}

impl Event {
    pub(super) fn call(call_id: &str, tool: &str, arguments: &Map<String, Value>) -> Self {
        let (call_id, tool) = (call_id.to_owned(), tool.to_owned());
        Self::ToolCall { call_id, tool, arguments: arguments.clone() }
    }

    /// Its name, as events of a stream have one.
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

    /// Its JSON.
    ///
    /// # Errors
    /// When a result that it holds is no JSON, which no operation's is.
    pub fn to_json(&self) -> serde_json::Result<Box<RawValue>> {
        serde_json::value::to_raw_value(self)
    }
}

/// How long it is waited for those who listen, so that none of them holds up a turn for ever.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Where a turn tells what happens. Without anyone who listens, it tells nobody.
///
/// A door puts them into the extensions of a call of `agent.chat`, and reads from the other end meanwhile.
#[derive(Debug, Clone, Default)]
pub struct Events(Option<mpsc::Sender<Event>>);

impl Events {
    /// Events, and where they come out. The turn waits when so many are not read yet, 5 s at most for each
    /// that is then left out.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<Event>) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        (Self(Some(sender)), receiver)
    }

    pub(crate) async fn send(&self, event: impl FnOnce() -> Event) {
        self.send_until(Instant::now() + PATIENCE, event).await;
    }

    /// The same, with an end to all patience.
    pub(super) async fn send_until(&self, end: Instant, event: impl FnOnce() -> Event) {
        if let Some(sender) = &self.0 {
            let end = end.min(Instant::now() + PATIENCE);
            // Who does not listen any more has dropped the turn, or will.
            let _ = timeout_at(end, sender.send(event())).await;
        }
    }
}
