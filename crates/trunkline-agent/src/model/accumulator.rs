//! What a reply adds up to.

use serde::{Deserialize, Serialize};
use trunkline::JsonSchema;

use super::chunk::{CallPart, Chunk};
use super::error::{ModelError, said};
use super::settings::Settings;
use super::tool_call::{self, Arguments, ToolCall};

/// A whole reply of a model.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Completion {
    /// What it says.
    pub content: String,
    /// What it wants to have called.
    pub calls: Vec<ToolCall>,
    /// What it took, if the endpoint tells.
    pub usage: Option<Usage>,
    /// Whether the model had more to say than it was allowed to.
    pub is_cut: bool,
}

/// How many tokens were read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Read by the model.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Written by it.
    #[serde(default)]
    pub completion_tokens: u64,
    /// Both.
    #[serde(default)]
    pub total_tokens: u64,
}

/// A reply that comes in parts.
#[derive(Debug)]
pub(super) struct Accumulator {
    content: String,
    refusal: String,
    calls: Vec<Partial>,
    /// Those of the calls' names and arguments.
    bytes_of_calls: usize,
    usage: Option<Usage>,
    finish: Option<String>,
    has_choice: bool,
    max_content_bytes: usize,
    max_arguments_bytes: usize,
}

#[derive(Debug, Default)]
struct Partial {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// More calls than any model makes at once; those behind are an error, not an allocation.
const MAX_CALLS: usize = 128;

impl Accumulator {
    pub(super) fn new(settings: &Settings) -> Self {
        let Settings { max_content_bytes, max_arguments_bytes, .. } = *settings;
        Self {
            content: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            bytes_of_calls: 0,
            usage: None,
            finish: None,
            has_choice: false,
            max_content_bytes,
            max_arguments_bytes,
        }
    }

    /// Adds a part.
    pub(super) fn add(&mut self, json: &str) -> Result<(), ModelError> {
        let chunk = Chunk::read(json).map_err(|error| ModelError::malformed(error.to_string()))?;
        if let Some(error) = chunk.error {
            let text = serde_json::json!({ "error": error }).to_string();
            return Err(ModelError::Failed { reason: said(&text) });
        }
        self.usage = chunk.usage.or(self.usage);
        let Some(choice) = chunk.choice else { return Ok(()) };
        self.has_choice = true;
        self.finish = choice.finish.or(self.finish.take());
        for call in choice.calls {
            self.add_call(call, choice.is_whole)?;
        }
        self.content.push_str(&choice.content);
        self.refusal.push_str(&choice.refusal);
        let limit = self.max_content_bytes;
        if self.content.len() + self.refusal.len() > limit {
            return Err(ModelError::TooLarge { what: "text", limit });
        }
        Ok(())
    }

    fn add_call(&mut self, part: CallPart, is_whole: bool) -> Result<(), ModelError> {
        let place = if is_whole { None } else { self.place(&part) };
        let CallPart { index, id, name, arguments } = part;
        let place = match place {
            Some(place) => place,
            None if self.calls.len() == MAX_CALLS => {
                return Err(ModelError::malformed(format!("more than {MAX_CALLS} calls")));
            }
            None => {
                self.calls.push(Partial { index, ..Partial::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[place];
        // Some servers repeat both in every part; some cut the name into pieces.
        if call.id.is_empty() {
            call.id = id;
        }
        let is_next_of_name = call.arguments.is_empty() && call.name != name;
        let name = if is_next_of_name { &*name } else { "" };
        self.bytes_of_calls += name.len() + arguments.len();
        if self.bytes_of_calls > self.max_arguments_bytes {
            return Err(ModelError::TooLarge { what: "calls", limit: self.max_arguments_bytes });
        }
        call.name.push_str(name);
        call.arguments.push_str(&arguments);
        Ok(())
    }

    /// The call that a part belongs to: the last one of its index; without one, the last one. Unless it begins
    /// another: some servers give all calls the same index.
    fn place(&self, part: &CallPart) -> Option<usize> {
        let place = match part.index {
            Some(_) => self.calls.iter().rposition(|call| call.index == part.index),
            None => self.calls.len().checked_sub(1),
        }?;
        let call = &self.calls[place];
        let begins = if part.id.is_empty() || call.id.is_empty() {
            part.index.is_none()
        } else {
            part.id != call.id
        };
        // Some servers make up another id for each part: the name tells.
        let begins = begins && !part.name.is_empty();
        (!begins).then_some(place)
    }

    /// Whether a stream that ends here was complete.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    pub(super) fn content(&self) -> &str {
        &self.content
    }

    /// The whole.
    pub(super) fn finish(self) -> Result<Completion, ModelError> {
        if !self.has_choice {
            return Err(ModelError::malformed("it has no choices"));
        }
        if !self.refusal.trim().is_empty() {
            return Err(ModelError::Declined { reason: self.refusal });
        }
        if self.finish.as_deref() == Some("content_filter") {
            let reason = "a filter of its endpoint has cut the answer".to_owned();
            return Err(ModelError::Declined { reason });
        }
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for call in self.calls {
            let arguments = Arguments::of_text(&call.arguments);
            // Results are told by id, so each has one, and of its own.
            let is_own =
                tool_call::is_id(&call.id) && calls.iter().all(|other| other.id != call.id);
            let id = if is_own { call.id } else { tool_call::id() };
            calls.push(ToolCall { id, name: call.name, arguments });
        }
        let is_cut = self.finish.as_deref() == Some("length");
        Ok(Completion { content: self.content, calls, usage: self.usage, is_cut })
    }
}
