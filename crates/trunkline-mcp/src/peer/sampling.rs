//! Requests to the language model of a client.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A request to the language model of a client (2025-11-25, "Sampling").
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The messages: objects with `role` and `content`.
    pub messages: Vec<Value>,
    /// The maximum number of tokens of the answer.
    pub max_tokens: u32,
    /// Instructions to the model, which the client may change or omit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Further members: `temperature`, `stopSequences`, `modelPreferences`, `tools`, `toolChoice`, `metadata`.
    #[serde(flatten)]
    pub options: Map<String, Value>,
}

/// The answer of a language model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SamplingResult {
    /// The role, usually `assistant`.
    pub role: String,
    /// A content block, or several: an object or an array.
    pub content: Value,
    /// The name of the model.
    pub model: String,
    /// The reason for which the answer ended, such as `endTurn` or `maxTokens`.
    pub stop_reason: Option<String>,
}

impl SamplingRequest {
    /// A request with one message of the user.
    pub fn new(text: impl Into<String>, max_tokens: u32) -> Self {
        let content = json!({ "type": "text", "text": text.into() });
        let messages = vec![json!({ "role": "user", "content": content })];
        Self { messages, max_tokens, system_prompt: None, options: Map::new() }
    }
}

impl SamplingResult {
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
