//! Members of messages that the API does not define, such as the reasoning of a model.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Members of a message or a tool call that the API does not define: reasoning, signatures of thoughts. A server that
/// sends them expects them back unchanged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExtraMembers(Map<String, Value>);

/// The maximum nesting of a member. Deeper values could not be parsed inside a conversation.
const MAX_DEPTH: usize = 64;

impl ExtraMembers {
    /// The members of an object except these. Empty values, of which some servers send many, are omitted.
    pub(super) fn of(object: Value, defined: &[&str]) -> Self {
        let Value::Object(mut members) = object else { return Self::default() };
        members.retain(|name, value| {
            !defined.contains(&name.as_str()) && !is_empty(value) && depth(value) < MAX_DEPTH
        });
        Self(members)
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is a member with this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The names of the members, without the function of a call, which the API defines.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(|&name| name != "function")
    }

    /// The approximate size in a prompt, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        if self.is_empty() { 0 } else { Value::from(self.clone()).to_string().len() }
    }

    /// Adds the members of the next part of a stream.
    pub(super) fn add(&mut self, part: Self) {
        part.0.into_iter().for_each(|(name, value)| add_member(&mut self.0, name, value));
    }

    /// Replaces members by those of a complete message.
    pub(super) fn replace(&mut self, whole: Self) {
        self.0.extend(whole.0);
    }

    /// Adds the members to an object of the API.
    pub(super) fn write_to(&self, object: &mut Map<String, Value>) {
        for (name, value) in &self.0 {
            match (object.get_mut(name), value) {
                (Some(Value::Object(object)), Value::Object(members)) => {
                    object.extend(members.clone());
                }
                _ => drop(object.insert(name.clone(), value.clone())),
            }
        }
    }

    /// Replaces texts that are the id of a call: some servers refer to calls in the reasoning.
    pub(super) fn rename_call(&mut self, from: &str, to: &str) {
        self.0.values_mut().for_each(|value| rename(value, from, to));
    }
}

impl From<ExtraMembers> for Value {
    fn from(extra: ExtraMembers) -> Self {
        Self::Object(extra.0)
    }
}

/// The nesting depth of arrays and objects.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn add_member(members: &mut Map<String, Value>, name: String, part: Value) {
    let Some(value) = members.get_mut(&name) else {
        members.insert(name, part);
        return;
    };
    match (value, part) {
        (Value::String(text), Value::String(part)) if is_text(&name) => text.push_str(&part),
        (Value::Array(elements), Value::Array(parts)) => {
            parts.into_iter().for_each(|part| add_element(elements, part));
        }
        (Value::Object(members), Value::Object(part)) => {
            part.into_iter().for_each(|(name, part)| add_member(members, name, part));
        }
        (value, part) if !is_empty(&part) => *value = part,
        _ => {}
    }
}

/// Adds an element of a stream to an array: the next part of an earlier element with the same index, or of the last
/// one if it has no index. Otherwise it is another element.
fn add_element(elements: &mut Vec<Value>, part: Value) {
    let position = match part.get("index") {
        Some(index) => elements.iter().rposition(|one| one.get("index") == Some(index)),
        None => elements.len().checked_sub(1),
    };
    match (position.map(|position| &mut elements[position]), part) {
        (Some(Value::Object(element)), Value::Object(part)) if continues(element, &part) => {
            part.into_iter().for_each(|(name, part)| add_member(element, name, part));
        }
        (_, part) => elements.push(part),
    }
}

/// Whether no member except texts differs.
fn continues(element: &Map<String, Value>, part: &Map<String, Value>) -> bool {
    part.iter().all(|(name, part)| {
        let value = element.get(name).filter(|value| !is_empty(value));
        value.is_none_or(|value| is_empty(part) || is_text(name) || value == part)
    })
}

/// Whether a member has a text that a stream continues, instead of a name or a signature.
fn is_text(name: &str) -> bool {
    const TEXTS: [&str; 7] =
        ["analysis", "content", "reasoning", "summary", "text", "thinking", "thought"];
    const OTHERS: [&str; 5] = ["encrypted", "format", "id", "signature", "type"];
    let mut words = name.split(['_', '-', '.']);
    words.clone().any(|word| TEXTS.contains(&word)) && !words.any(|word| OTHERS.contains(&word))
}

fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => to.clone_into(text),
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, from, to)),
        Value::Object(members) => members.values_mut().for_each(|value| rename(value, from, to)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(parts: &[Value], expected: &Value) {
        let mut extra = ExtraMembers::default();
        parts.iter().for_each(|part| extra.add(ExtraMembers::of(part.clone(), &["role"])));
        assert_eq!(Value::from(extra), *expected, "{parts:?}");
    }

    #[test]
    fn assembles_members() {
        check(&[json!({ "role": "assistant" }), json!(null), json!({})], &json!({}));
        check(&[json!({ "a": null, "b": "", "c": [], "d": {}, "e": 0 })], &json!({ "e": 0 }));
        let texts = ["reasoning", "reasoning_content", "thinking", "thought", "reasoning_text"];
        for name in texts {
            let parts = ["I", "", " add"].map(|text| json!({ name: text }));
            check(&parts, &json!({ name: "I add" }));
        }
        for name in ["thought_signature", "encrypted_content", "thinking_id", "format", "x"] {
            check(&[json!({ name: "a" }), json!({ name: "b" })], &json!({ name: "b" }));
        }
        let signed = |signature: &str| json!({ "google": { "thought_signature": signature } });
        check(
            &[json!({ "extra": signed("") }), json!({ "extra": signed("s") })],
            &json!({ "extra": signed("s") }),
        );
    }

    #[track_caller]
    fn check_elements(parts: &[Value], expected: Value) {
        let parts: Vec<_> = parts.iter().map(|part| json!({ "details": [part] })).collect();
        check(&parts, &json!({ "details": expected }));
    }

    #[test]
    fn assembles_elements() {
        let text = |index: u64, text: &str| json!({ "type": "text", "index": index, "text": text });
        let both = json!([text(0, "ac"), text(1, "b")]);
        check_elements(&[text(0, "a"), text(1, "b"), text(0, "c")], both);
        let (first, next) =
            (json!({ "type": "text", "text": "a" }), json!({ "type": "text", "text": "b" }));
        check_elements(&[first, next], json!([{ "type": "text", "text": "ab" }]));
        let summary = json!({ "type": "summary", "index": 0, "summary": "s" });
        check_elements(&[text(0, "a"), summary.clone()], json!([text(0, "a"), summary]));
        let data = |data: &str| json!({ "type": "encrypted", "index": 0, "data": data });
        check_elements(&[data("a"), data("b"), data("b")], json!([data("a"), data("b")]));
        check_elements(&[json!("a"), json!("a")], json!(["a", "a"]));
    }

    #[test]
    fn drops_deep_members() {
        let nested = |depth: usize| (1..depth).fold(json!([1]), |value, _| json!([value]));
        let extra = ExtraMembers::of(json!({ "a": nested(63), "b": nested(64) }), &[]);
        assert_eq!(extra.names().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn renames_calls() {
        let mut extra = ExtraMembers::of(json!({ "d": [{ "id": "c1", "text": "c1 c1" }] }), &[]);
        extra.rename_call("c1", "c2");
        assert_eq!(Value::from(extra), json!({ "d": [{ "id": "c2", "text": "c1 c1" }] }));
    }
}
