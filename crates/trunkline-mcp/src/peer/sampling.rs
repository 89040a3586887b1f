//! Requests to the language model of a client.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::error::PeerError;
use crate::protocol::method;

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
    /// The role, usually `assistant`, also if the client sends none.
    pub role: String,
    /// A content block, or several: an object or an array.
    pub content: Value,
    /// The name of the model. Empty if the client sends none.
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
    /// Reads the result of `sampling/createMessage`. Only `content` is required. Models that call tools may answer with
    /// null; a text is a block.
    pub(super) fn read(result: Value) -> Result<Self, PeerError> {
        let malformed = |reason: &str| {
            let (method, reason) = (method::SAMPLE, reason.to_owned());
            Err(PeerError::Malformed { method, reason })
        };
        let Value::Object(mut members) = result else { return malformed("not an object") };
        let content = match members.remove("content") {
            None => return malformed("`content` is missing"),
            Some(Value::Null) => Value::Array(Vec::new()),
            Some(Value::Array(blocks)) => blocks.into_iter().map(block).collect(),
            Some(content @ (Value::Object(_) | Value::String(_))) => block(content),
            Some(_) => return malformed("`content` is neither a block nor an array of blocks"),
        };
        let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            role: text("role").unwrap_or_else(|| "assistant".to_owned()),
            content,
            model: text("model").unwrap_or_default(),
            stop_reason: text("stopReason"),
        })
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

/// A content block. A text is that of a block.
fn block(content: Value) -> Value {
    match content {
        Value::String(text) => json!({ "type": "text", "text": text }),
        block => block,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::SamplingResult;

    /// `expected` are the text, the role, the model and the reason, or `None` for a malformed result.
    #[track_caller]
    fn check(result: Value, expected: Option<(&str, &str, &str, Option<&str>)>) {
        let found = SamplingResult::read(result.clone()).ok();
        let text = found.as_ref().map(SamplingResult::text).unwrap_or_default();
        let found = found
            .as_ref()
            .map(|found| (&*text, &*found.role, &*found.model, found.stop_reason.as_deref()));
        assert_eq!(found, expected, "{result}");
    }

    #[test]
    fn reads_results() {
        let block = json!({ "type": "text", "text": "a" });
        let whole = json!({
            "role": "user", "content": block, "model": "m", "stopReason": "endTurn", "x": 1,
        });
        check(whole, Some(("a", "user", "m", Some("endTurn"))));
        let defaults = |text| Some((text, "assistant", "", None));
        check(json!({ "content": block }), defaults("a"));
        let nulls = json!({ "role": null, "content": block, "model": null, "stopReason": null });
        check(nulls, defaults("a"));
        check(json!({ "content": [block, block] }), defaults("aa"));
        check(json!({ "content": ["a", { "type": "image" }, null] }), defaults("a"));
        check(json!({ "content": "a" }), defaults("a"));
        check(json!({ "content": [] }), defaults(""));
        check(json!({ "content": null, "model": 1 }), defaults(""));
        check(json!({ "content": { "type": "text", "text": null } }), defaults(""));
        for malformed in
            [json!({}), json!({ "model": "m" }), json!({ "content": 1 }), json!(null), json!([])]
        {
            check(malformed, None);
        }
    }
}
