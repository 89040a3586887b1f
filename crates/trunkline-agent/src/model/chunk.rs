//! The parts of a reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline::JsonSchema;

use super::extra::ExtraMembers;

/// A part of a stream, or a complete reply. Members of an unexpected type are ignored, so that invalid metadata
/// does not lose an answer.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The error that the server reports.
    pub(super) error: Option<Value>,
    pub(super) usage: Option<Usage>,
    /// The first choice. The part that reports the usage has none.
    pub(super) choice: Option<Choice>,
}

/// The members of a message that the API defines. They are not returned as [`ExtraMembers`].
const MESSAGE_MEMBERS: [&str; 7] =
    ["role", "content", "refusal", "tool_calls", "function_call", "audio", "annotations"];

#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) content: String,
    /// The reason why the model declines to answer.
    pub(super) refusal: String,
    pub(super) calls: Vec<CallPart>,
    pub(super) extra: ExtraMembers,
    pub(super) finish_reason: Option<String>,
    /// Whether it is a `message` instead of a `delta`, with complete calls.
    pub(super) is_complete: bool,
}

/// A call, or the next part of one.
#[derive(Debug)]
pub(super) struct CallPart {
    pub(super) index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) extra: ExtraMembers,
}

/// The token usage of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read by the model.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Tokens written by the model.
    #[serde(default)]
    pub completion_tokens: u64,
    /// The sum of both.
    #[serde(default)]
    pub total_tokens: u64,
    /// Tokens of the prompt that were in the endpoint's cache, if it reports them.
    #[serde(default)]
    pub cached_tokens: u64,
}

impl Chunk {
    pub(super) fn new(mut chunk: Value) -> Self {
        // Gemini lists its errors.
        if let Value::Array(chunks) = chunk {
            chunk = chunks.into_iter().next().unwrap_or_default();
        }
        let choice = match take(&mut chunk, "choices") {
            Value::Array(choices) => choices.into_iter().find(is_first),
            _ => None,
        };
        // Some servers add an empty `error` to a successful reply.
        let is_error = |error: &Value| match error {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.trim().is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => choice.is_none(),
        };
        let error = match take(&mut chunk, "error") {
            error if is_error(&error) => Some(error),
            _ if choice.is_none() => error_of_chunk(&chunk),
            _ => None,
        };
        let usage = chunk.get("usage").and_then(usage);
        Self { error, usage, choice: choice.map(Choice::new) }
    }
}

impl Choice {
    fn new(mut choice: Value) -> Self {
        let finish_reason = text(take(&mut choice, "finish_reason"));
        let finish_reason = Some(finish_reason).filter(|reason| !reason.is_empty());
        let delta = take(&mut choice, "delta");
        let (mut message, is_complete) = match delta {
            Value::Object(_) => (delta, false),
            _ => (take(&mut choice, "message"), true),
        };
        let mut calls: Vec<_> = match take(&mut message, "tool_calls") {
            Value::Array(calls) => calls.into_iter().map(CallPart::new).collect(),
            _ => Vec::new(),
        };
        // The deprecated format, with at most one call in a message.
        let function = take(&mut message, "function_call");
        if calls.is_empty() && function.is_object() {
            calls.push(CallPart::new(serde_json::json!({ "index": 0, "function": function })));
        }
        let content = match take(&mut message, "content") {
            Value::Array(parts) => {
                parts.into_iter().map(|mut part| text(take(&mut part, "text"))).collect()
            }
            content => text(content),
        };
        Self {
            content,
            refusal: text(take(&mut message, "refusal")),
            calls,
            extra: ExtraMembers::of(message, &MESSAGE_MEMBERS),
            finish_reason,
            is_complete,
        }
    }
}

impl CallPart {
    fn new(mut call: Value) -> Self {
        let mut function = take(&mut call, "function");
        let ids = [take(&mut call, "id"), take(&mut function, "id")];
        let id = ids.into_iter().map(|id| match id {
            Value::Number(id) => id.to_string(),
            id => text(id),
        });
        let name = text(take(&mut function, "name"));
        let arguments = match take(&mut function, "arguments") {
            Value::Null => String::new(),
            Value::String(text) => text,
            arguments => arguments.to_string(),
        };
        let index = call.get("index").and_then(Value::as_u64);
        // The members are null now, and omitted.
        if let Value::Object(call) = &mut call {
            let members = ExtraMembers::of(function, &[]);
            call.insert("function".to_owned(), members.into());
        }
        Self {
            index,
            id: id.into_iter().find(|id| !id.is_empty()).unwrap_or_default(),
            name,
            arguments,
            extra: ExtraMembers::of(call, &["index", "type"]),
        }
    }
}

/// The error in a part without choices and `error`: some servers send the error object itself, or other members.
fn error_of_chunk(chunk: &Value) -> Option<Value> {
    let text = |name: &str| chunk.get(name).filter(|text| text.is_string());
    let is_error = |name: &str| text(name).is_some_and(|kind| kind == "error");
    let message = text("message").filter(|_| {
        is_error("object")
            || is_error("type")
            || chunk.get("code").is_some_and(|code| !code.is_null())
    });
    message.or_else(|| text("error_message")).cloned()
}

/// Whether a choice belongs to the first reply; parts of several replies may be interleaved.
fn is_first(choice: &Value) -> bool {
    choice.is_object() && choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0
}

/// The usage, unless all its numbers are missing or 0.
fn usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| {
        let count = usage.pointer(&format!("/{name}"))?;
        // Floats are accepted; negative numbers count as 0.
        count.as_u64().or_else(|| count.as_f64().map(|count| count as u64))
    };
    let [prompt_tokens, completion_tokens, total_tokens] =
        ["prompt_tokens", "completion_tokens", "total_tokens"].map(|name| count(name).unwrap_or(0));
    let total_tokens = total_tokens.max(prompt_tokens.saturating_add(completion_tokens));
    // The second is DeepSeek's.
    let cached = ["prompt_tokens_details/cached_tokens", "prompt_cache_hit_tokens"];
    let cached_tokens = cached.into_iter().find_map(count).unwrap_or(0);
    let usage = Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens };
    (total_tokens > 0).then_some(usage)
}

fn take(object: &mut Value, name: &str) -> Value {
    object.get_mut(name).map(Value::take).unwrap_or_default()
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        _ => String::new(),
    }
}
