//! What is asked of an agent, and what it answers.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::{ErrorObject, JsonSchema};

use crate::model;

/// What is said to an agent.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatRequest {
    /// What the user says. It may be left out where a call is confirmed.
    #[serde(default)]
    pub message: Option<String>,
    /// The conversation that goes on. Without it, one begins.
    #[serde(default)]
    pub conversation_id: Option<String>,
    /// Confirms the call that the last reply told of as `pending`, by its token.
    #[serde(default)]
    pub confirm: Option<String>,
}

/// What an agent answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ChatReply {
    /// The answer.
    pub response: String,
    /// The conversation, for the next message.
    pub conversation_id: String,
    /// What was done, for people.
    pub status_updates: Vec<String>,
    /// The calls that were made, in the order in which the model made them.
    pub steps: Vec<Step>,
    /// The tokens that it took.
    pub usage: Usage,
    /// About the turn.
    pub metadata: Metadata,
    /// A call that was not made: it wants to be confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
}

/// A call, and what came of it: a result or an error.
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
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// Why a call has no result: an error object of JSON-RPC.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct StepError {
    /// The code.
    pub code: i64,
    /// A short sentence.
    pub message: String,
    /// More, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub data: Option<Box<RawValue>>,
}

/// How many tokens a turn took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Usage {
    /// Read by the model.
    pub prompt_tokens: u64,
    /// Written by it.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Those that count towards [`AgentConfig::max_tokens`](super::AgentConfig::max_tokens): written by the
    /// model, or read for the first time in the turn.
    pub counted_tokens: u64,
    /// Whether some of it is an estimate: the endpoint does not count.
    pub estimated: bool,
}

/// About a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Metadata {
    /// The name of the model.
    pub model: String,
    /// The tool that was called last.
    pub tool_used: Option<String>,
    /// Why the turn ended before the model was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stop>,
    /// How many times the model was asked.
    pub model_calls: u32,
    /// How long it was waited for, in milliseconds.
    pub model_ms: u64,
    /// How long the turn took, in milliseconds.
    pub total_ms: u64,
}

/// Why a turn ended before the model was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stop {
    /// The model was asked as often as allowed.
    Steps,
    /// As many calls were made as allowed.
    Calls,
    /// It took as many tokens as allowed.
    Tokens,
    /// Time is up.
    Time,
    /// The model makes the same call again and again.
    Repetition,
    /// The model's reply reached the endpoint's limit.
    Length,
}

/// A call that wants to be confirmed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Pending {
    /// Send it as `confirm`, with the conversation's id: then exactly this call is made, once.
    pub confirm: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

impl Usage {
    /// Adds a question, `known` tokens of whose prompt are not new.
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
    /// As a sentence behind an answer.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Steps => "I stopped before I was done: the limit of steps was reached.",
            Self::Calls => "I stopped before I was done: the limit of tool calls was reached.",
            Self::Tokens => "I stopped before I was done: the limit of tokens was reached.",
            Self::Time => "I stopped before I was done: the time was up.",
            Self::Repetition => "I stopped: the same tool call was made again and again.",
            Self::Length => "The answer ends here: the model's limit of output was reached.",
        }
    }
}

impl From<&ErrorObject> for StepError {
    fn from(error: &ErrorObject) -> Self {
        let data = error.data().map(ToOwned::to_owned);
        Self { code: error.code(), message: error.message().to_owned(), data }
    }
}
