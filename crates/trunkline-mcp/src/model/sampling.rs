//! Sampling: requests to the language model of a client.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::lenient::hint;

/// A request for a message of a language model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageRequest {
    /// The conversation: objects with `role` and `content`.
    pub messages: Vec<Value>,
    /// The maximum number of tokens of the answer.
    pub max_tokens: u64,
    /// Instructions to the model, which the client may change or omit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Further members: `temperature`, `stopSequences`, `modelPreferences`, `tools`, `toolChoice`, `metadata`.
    #[serde(flatten)]
    pub options: Map<String, Value>,
}

/// The answer of a language model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// The role, usually `assistant`, also if the client sends none.
    #[serde(default = "assistant", deserialize_with = "role")]
    pub role: String,
    /// A content block, or several: an object or an array.
    #[serde(deserialize_with = "content")]
    pub content: Value,
    /// The name of the model. Empty if the client sends none.
    #[serde(default, deserialize_with = "hint")]
    pub model: String,
    /// The reason for which the answer ended, such as `endTurn` or `maxTokens`.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Further members, such as `_meta`.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl CreateMessageRequest {
    /// A request with one message of the user.
    pub fn new(text: impl Into<String>, max_tokens: u64) -> Self {
        let messages = vec![json!({ "role": "user", "content": block(text.into().into()) })];
        Self { messages, max_tokens, system_prompt: None, options: Map::new() }
    }
}

impl CreateMessageResult {
    /// A text by the assistant, which is complete.
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            role: assistant(),
            content: block(text.into().into()),
            model: model.into(),
            stop_reason: Some("endTurn".to_owned()),
            rest: Map::new(),
        }
    }

    /// The text of all text blocks.
    #[must_use]
    pub fn text(&self) -> String {
        let blocks = match &self.content {
            Value::Array(blocks) => blocks.as_slice(),
            block => std::slice::from_ref(block),
        };
        blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect()
    }
}

fn assistant() -> String {
    "assistant".to_owned()
}

fn role<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let role: Option<String> = hint(deserializer)?;
    Ok(role.unwrap_or_else(assistant))
}

/// Models that call tools may answer with null.
fn content<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(Value::Array(Vec::new())),
        Value::Array(blocks) => Ok(blocks.into_iter().map(block).collect()),
        content @ (Value::Object(_) | Value::String(_)) => Ok(block(content)),
        _ => Err(D::Error::custom("`content` is neither a block nor an array of blocks")),
    }
}

/// A content block. A text is that of a block.
fn block(content: Value) -> Value {
    match content {
        Value::String(text) => json!({ "type": "text", "text": text }),
        block => block,
    }
}
