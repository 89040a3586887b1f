//! The events of a turn.

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline::client::ProtocolError;

use crate::client::CallError;

/// An event, and its JSON text.
#[derive(Debug)]
pub(crate) struct TurnEvent {
    pub(crate) event: Event,
    /// The received JSON text; `None` if the event was derived from the answer.
    pub(crate) json: Option<String>,
}

#[derive(Debug)]
pub(crate) enum Event {
    /// A text about the progress.
    Status(String),
    /// A part of the answer.
    Token(String),
    /// The begin of a call.
    Call(ToolCall),
    /// The outcome of a call.
    Result(Step),
    /// The end of the turn.
    Done(Answer),
    /// An event of a newer server.
    Other,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ToolCall {
    /// The id of the call in the turn, if the server sends ids.
    call_id: Option<String>,
    pub(crate) tool: String,
    pub(crate) arguments: Box<RawValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Step {
    /// The id of the call.
    call_id: Option<String>,
    pub(crate) tool: String,
    pub(crate) arguments: Box<RawValue>,
    pub(crate) result: Option<Box<RawValue>>,
    pub(crate) error: Option<StepError>,
    #[serde(default)]
    pub(crate) ms: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StepError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Box<RawValue>>,
}

/// The result of `agent.chat`.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) response: String,
    pub(crate) conversation_id: String,
    #[serde(default)]
    pub(crate) steps: Vec<Step>,
    pub(crate) pending: Option<Pending>,
}

/// A call that requires confirmation.
#[derive(Debug, Deserialize)]
pub(crate) struct Pending {
    pub(crate) confirm: String,
    pub(crate) tool: String,
    pub(crate) arguments: Box<RawValue>,
}

impl Step {
    /// Whether this is the outcome of a call.
    pub(crate) fn is_of(&self, call: &ToolCall) -> bool {
        match (&self.call_id, &call.call_id) {
            (Some(id), Some(other)) => id == other,
            _ => self.tool == call.tool && self.arguments.get() == call.arguments.get(),
        }
    }
}

impl StepError {
    /// Whether the call was not made: it requires confirmation, or a limit was reached.
    pub(crate) fn is_refusal(&self) -> bool {
        self.code == trunkline::code::REFUSED
    }
}

impl Event {
    /// Parses the data of an event.
    pub(super) fn read(name: &str, data: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Text {
            text: String,
        }
        let text = || serde_json::from_str(data).map(|Text { text }| text);
        Ok(match name {
            "status" => Self::Status(text()?),
            "token" => Self::Token(text()?),
            "tool_call" => Self::Call(serde_json::from_str(data)?),
            "tool_result" => Self::Result(serde_json::from_str(data)?),
            "done" => Self::Done(serde_json::from_str(data)?),
            _ => Self::Other,
        })
    }
}

impl Answer {
    /// The events that a stream would have contained.
    pub(super) fn into_events(self, json: &RawValue) -> impl Iterator<Item = TurnEvent> + use<> {
        let done = match json.get().split_once('{') {
            Some((_, members)) => format!("{{\"type\":\"done\",{members}"),
            None => json.get().to_owned(),
        };
        let Self { response, conversation_id, steps, pending } = self;
        let steps = steps.into_iter().map(Event::Result);
        let text = Event::Token(response.clone());
        let answer = Self { response, conversation_id, steps: Vec::new(), pending };
        let events = steps.chain([text]).map(|event| TurnEvent { event, json: None });
        events.chain([TurnEvent { event: Event::Done(answer), json: Some(done) }])
    }
}

/// Parses the result of a method of an agent.
///
/// # Errors
///
/// When it has another type.
pub(crate) fn result<'r, T: Deserialize<'r>>(json: &'r RawValue) -> Result<T, CallError> {
    serde_json::from_str(json.get())
        .map_err(|error| CallError::new(ProtocolError::Result { reason: error.to_string() }, None))
}
