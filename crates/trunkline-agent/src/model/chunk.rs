//! A part of a reply, as servers send it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline::JsonSchema;

/// A part of a stream, or a reply in one piece. What has another type than it should have is taken as if it
/// were not there: no answer is lost for how its tokens are counted.
#[derive(Debug)]
pub(super) struct Chunk {
    /// What the server says has failed.
    pub(super) error: Option<Value>,
    pub(super) usage: Option<Usage>,
    /// One reply is asked for; that of several parts which has no choice tells of usage.
    pub(super) choice: Option<Choice>,
}

#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) content: String,
    /// Why the model does not answer, in its words.
    pub(super) refusal: String,
    pub(super) calls: Vec<CallPart>,
    pub(super) finish: Option<String>,
    /// It has a `message` instead of a `delta`: each of its calls is a whole one.
    pub(super) is_whole: bool,
}

/// A call, or the next piece of one.
#[derive(Debug)]
pub(super) struct CallPart {
    pub(super) index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// The number of tokens of a reply.
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
    /// Those of the prompt that the endpoint had in a cache, if it reports them.
    #[serde(default)]
    pub cached_tokens: u64,
}

impl Chunk {
    pub(super) fn read(json: &str) -> Result<Self, serde_json::Error> {
        let mut chunk: Value = serde_json::from_str(json)?;
        let choice = match take(&mut chunk, "choices") {
            Value::Array(choices) => choices.into_iter().find(is_first),
            _ => None,
        };
        // Some servers say of a good reply that there is no error, in one way or another.
        let is_said = |error: &Value| match error {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.trim().is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => choice.is_none(),
        };
        Ok(Self {
            error: Some(take(&mut chunk, "error")).filter(is_said),
            usage: chunk.get("usage").and_then(usage),
            choice: choice.map(Choice::of),
        })
    }
}

impl Choice {
    fn of(mut choice: Value) -> Self {
        let finish = text(take(&mut choice, "finish_reason"));
        let finish = Some(finish).filter(|finish| !finish.is_empty());
        let delta = take(&mut choice, "delta");
        let (mut said, is_whole) = match delta {
            Value::Object(_) => (delta, false),
            _ => (take(&mut choice, "message"), true),
        };
        let mut calls: Vec<_> = match take(&mut said, "tool_calls") {
            Value::Array(calls) => calls.into_iter().map(CallPart::of).collect(),
            _ => Vec::new(),
        };
        // What calls were before there were several in a message.
        let function = take(&mut said, "function_call");
        if calls.is_empty() && function.is_object() {
            calls.push(CallPart::of(serde_json::json!({ "index": 0, "function": function })));
        }
        let content = match take(&mut said, "content") {
            Value::Array(parts) => {
                parts.into_iter().map(|mut part| text(take(&mut part, "text"))).collect()
            }
            content => text(content),
        };
        Self { content, refusal: text(take(&mut said, "refusal")), calls, finish, is_whole }
    }
}

impl CallPart {
    fn of(mut call: Value) -> Self {
        let mut function = take(&mut call, "function");
        Self {
            index: call.get("index").and_then(Value::as_u64),
            id: match take(&mut call, "id") {
                Value::Number(id) => id.to_string(),
                id => text(id),
            },
            name: text(take(&mut function, "name")),
            arguments: match take(&mut function, "arguments") {
                Value::Null => String::new(),
                Value::String(text) => text,
                arguments => arguments.to_string(),
            },
        }
    }
}

/// Several replies may be woven; this is one of the one that counts.
fn is_first(choice: &Value) -> bool {
    choice.is_object() && choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0
}

/// What is counted. Where nothing is, nothing is told.
fn usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| {
        let count = usage.pointer(&format!("/{name}"))?;
        // As a float, it is a whole number all the same; one below zero is none.
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
