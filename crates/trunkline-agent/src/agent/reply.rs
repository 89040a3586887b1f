//! Chat requests and replies.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::{ErrorObject, JsonSchema};

use crate::model;

/// A message to an agent.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatRequest {
    /// The user's message. Optional if a call is confirmed.
    #[serde(default)]
    pub message: Option<String>,
    /// The conversation to continue. Default: a new conversation.
    #[serde(default)]
    pub conversation_id: Option<String>,
    /// The confirmation token of the `pending` call of the last reply, to execute that call.
    #[serde(default)]
    pub confirm: Option<String>,
}

/// The reply of an agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ChatReply {
    /// The answer.
    pub response: String,
    /// The conversation, for the next message.
    pub conversation_id: String,
    /// Progress messages for people.
    pub status_updates: Vec<String>,
    /// The calls, in the order in which the model requested them.
    pub steps: Vec<Step>,
    /// The token usage.
    pub usage: Usage,
    /// Details of the turn.
    pub metadata: Metadata,
    /// A call that was not executed because it needs confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
}

/// A call with its result or error.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Step {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// The result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub result: Option<Box<RawValue>>,
    /// The error of a failed call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
    /// The duration in milliseconds.
    pub ms: u64,
}

/// The error of a call: a JSON-RPC error object.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct StepError {
    /// The code.
    pub code: i64,
    /// A short message.
    pub message: String,
    /// Details for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub data: Option<Box<RawValue>>,
}

/// The token usage of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens read by the model.
    pub prompt_tokens: u64,
    /// Tokens written by the model.
    pub completion_tokens: u64,
    /// The sum of both.
    pub total_tokens: u64,
    /// Tokens that count towards [`AgentConfig::max_tokens`](super::AgentConfig::max_tokens): written by the
    /// model, or read for the first time in the turn.
    pub counted_tokens: u64,
    /// Whether some numbers are estimates because the endpoint reported no usage.
    pub estimated: bool,
}

/// Details of a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Metadata {
    /// The name of the model.
    pub model: String,
    /// The tool that returned the last result.
    pub tool_used: Option<String>,
    /// The reason why the turn ended before the model was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stop>,
    /// The number of model requests.
    pub model_calls: u32,
    /// The total duration of the model requests in milliseconds.
    pub model_ms: u64,
    /// The duration of the turn in milliseconds.
    pub total_ms: u64,
}

/// The reason why a turn ended before the model was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stop {
    /// The limit of model requests was reached.
    Steps,
    /// The limit of tool calls was reached.
    Calls,
    /// The limit of tokens was reached.
    Tokens,
    /// The timeout was reached.
    Time,
    /// The model repeated the same call too often.
    Repetition,
    /// The model reached the output limit of its endpoint.
    Length,
}

/// A call that needs confirmation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Pending {
    /// The confirmation token. Sent as `confirm` with the conversation id, it executes exactly this call, once.
    pub confirm: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

impl Usage {
    /// Adds the usage of a request. `known` tokens of its prompt were sent before.
    pub(super) fn add(&mut self, usage: model::Usage, known: u64) {
        let known = known.max(usage.cached_tokens).min(usage.prompt_tokens);
        let counted = usage.total_tokens.saturating_sub(known);
        self.counted_tokens = self.counted_tokens.saturating_add(counted);
        self.prompt_tokens = self.prompt_tokens.saturating_add(usage.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(usage.completion_tokens);
        self.total_tokens = self.total_tokens.saturating_add(usage.total_tokens);
    }
}

impl Stop {
    /// The sentence appended to the answer.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Steps => "I stopped early: the step limit was reached.",
            Self::Calls => "I stopped early: the tool call limit was reached.",
            Self::Tokens => "I stopped early: the token limit was reached.",
            Self::Time => "I stopped early: the time limit was reached.",
            Self::Repetition => "I stopped early: the same tool call was repeated too often.",
            Self::Length => "The answer is incomplete: the model's output limit was reached.",
        }
    }
}

impl From<&ErrorObject> for StepError {
    fn from(error: &ErrorObject) -> Self {
        let data = error.data().map(ToOwned::to_owned);
        Self { code: error.code(), message: error.message().to_owned(), data }
    }
}
