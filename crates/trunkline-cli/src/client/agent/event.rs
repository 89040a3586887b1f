//! What an agent tells.

use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline::client::ProtocolError;

use crate::client::CallError;

/// What happens in a turn.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) event: Event,
    /// As it was received, a JSON text; none of what the server has told only as a part of its answer.
    pub(crate) json: Option<String>,
}

#[derive(Debug)]
pub(crate) enum Event {
    /// What is being done, for people.
    Status(String),
    /// A piece of the answer.
    Token(String),
    /// A call begins.
    Call(Called),
    /// A call has ended, or was not made.
    Result(Step),
    /// The turn is over.
    Done(Answer),
    /// What a newer server may tell.
    Other,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Called {
    /// What tells it apart from the others of the turn, if the server says so.
    call_id: Option<String>,
    pub(crate) tool: String,
    pub(crate) arguments: Box<RawValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Step {
    /// That of its call.
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

/// What `agent.chat` answers.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) response: String,
    pub(crate) conversation_id: String,
    #[serde(default)]
    pub(crate) steps: Vec<Step>,
    pub(crate) pending: Option<Pending>,
}

/// A call that wants to be confirmed.
#[derive(Debug, Deserialize)]
pub(crate) struct Pending {
    pub(crate) confirm: String,
    pub(crate) tool: String,
    pub(crate) arguments: Box<RawValue>,
}

impl Step {
    /// Whether it is what came of this call.
    pub(crate) fn is_of(&self, called: &Called) -> bool {
        match (&self.call_id, &called.call_id) {
            (Some(id), Some(called)) => id == called,
            _ => self.tool == called.tool && self.arguments.get() == called.arguments.get(),
        }
    }
}

impl StepError {
    /// Whether the call was not made: it was not confirmed, or a limit was reached.
    pub(crate) fn is_refusal(&self) -> bool {
        self.code == trunkline::code::REFUSED
    }
}

impl Event {
    /// Reads the data of an event of this name.
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
    /// What would have been told of it on the way.
    pub(super) fn retold(self, json: &RawValue) -> impl Iterator<Item = Told> + use<> {
        let done = match json.get().split_once('{') {
            Some((_, members)) => format!("{{\"type\":\"done\",{members}"),
            None => json.get().to_owned(),
        };
        let Self { response, conversation_id, steps, pending } = self;
        let steps = steps.into_iter().map(Event::Result);
        let said = Event::Token(response.clone());
        let answer = Self { response, conversation_id, steps: Vec::new(), pending };
        let told = steps.chain([said]).map(|event| Told { event, json: None });
        told.chain([Told { event: Event::Done(answer), json: Some(done) }])
    }
}

/// Reads a result of a method of an agent.
///
/// # Errors
///
/// If it has another type.
pub(crate) fn result<'r, T: Deserialize<'r>>(json: &'r RawValue) -> Result<T, CallError> {
    serde_json::from_str(json.get())
        .map_err(|error| CallError::new(ProtocolError::Result { reason: error.to_string() }, None))
}
