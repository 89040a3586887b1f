//! What a reply adds up to.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline::JsonSchema;

use super::error::{ModelError, said};
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
#[derive(Debug, Default)]
pub(super) struct Accumulator {
    content: String,
    calls: Vec<Partial>,
    usage: Option<Usage>,
    finish: Option<String>,
    has_choice: bool,
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
    /// Adds a part, and gives back the text that is new in it.
    pub(super) fn add(&mut self, json: &str) -> Result<String, ModelError> {
        let chunk: Chunk =
            serde_json::from_str(json).map_err(|error| ModelError::malformed(error.to_string()))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            let text = serde_json::json!({ "error": error }).to_string();
            return Err(ModelError::Failed { reason: said(&text) });
        }
        self.usage = chunk.usage.map(Usage::totalled).or(self.usage);
        // One reply is asked for; that of several parts which has no choice tells of usage.
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(String::new()) };
        self.has_choice = true;
        self.finish = choice.finish_reason.or(self.finish.take());
        let Some(delta) = choice.delta.or(choice.message) else { return Ok(String::new()) };
        for call in delta.tool_calls.into_iter().flatten() {
            self.add_call(call)?;
        }
        let text = delta.content.map(Content::into_text).unwrap_or_default();
        self.content.push_str(&text);
        Ok(text)
    }

    /// A part belongs to the call of its index; without one, to the last call, unless it begins another.
    fn add_call(&mut self, part: CallPart) -> Result<(), ModelError> {
        let CallPart { index, id, function } = part;
        let Function { name, arguments } = function.unwrap_or_default();
        let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
        let place = match index {
            Some(_) => self.calls.iter().position(|call| call.index == index),
            None => self.calls.len().checked_sub(1).filter(|&last| {
                let begins = !name.is_empty() || (!id.is_empty() && id != self.calls[last].id);
                !begins
            }),
        };
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
        // Some servers repeat both in every part.
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        match arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => call.arguments.push_str(&text),
            Some(value) => call.arguments.push_str(&value.to_string()),
        }
        Ok(())
    }

    /// Whether a stream that ends here was complete.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    pub(super) fn content(&self) -> &str {
        &self.content
    }

    /// The whole, which is the message of this number in its conversation.
    pub(super) fn finish(self, number: usize) -> Result<Completion, ModelError> {
        if !self.has_choice {
            return Err(ModelError::malformed("it has no choices"));
        }
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.calls.len());
        for (index, call) in self.calls.into_iter().enumerate() {
            let arguments = Arguments::of_text(&call.arguments);
            // Results are told by id, so each has one, and of its own.
            let is_own = !call.id.is_empty() && calls.iter().all(|other| other.id != call.id);
            let id = if is_own { call.id } else { tool_call::id(number, index) };
            calls.push(ToolCall { id, name: call.name, arguments });
        }
        let is_cut = self.finish.as_deref() == Some("length");
        Ok(Completion { content: self.content, calls, usage: self.usage, is_cut })
    }
}

impl Usage {
    fn totalled(self) -> Self {
        let sum = self.prompt_tokens.saturating_add(self.completion_tokens);
        Self { total_tokens: self.total_tokens.max(sum), ..self }
    }
}

/// A part of a stream, or a reply in one piece: one has a `delta`, the other a `message`.
#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<Content>,
    tool_calls: Option<Vec<CallPart>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize)]
struct ContentPart {
    #[serde(default)]
    text: String,
}

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().map(|part| part.text).collect(),
        }
    }
}

#[derive(Deserialize)]
struct CallPart {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize, Default)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}
