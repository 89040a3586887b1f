//! What a model wants to have called.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::message::{Called, Message};

/// A call that a model wants to have made. Nothing of it is checked but that the arguments are an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Its id in the conversation.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// As they should be.
    Object(Map<String, Value>),
    /// A text that is no JSON object, and why.
    Malformed {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl ToolCall {
    /// The call as the model is told it again. What cannot be read is not repeated: some servers refuse a
    /// conversation that holds it, and models repeat what they read.
    #[must_use]
    pub fn called(&self) -> Called {
        let arguments = match &self.arguments {
            Arguments::Object(object) => {
                serde_json::to_string(object).expect("values serialise into memory")
            }
            Arguments::Malformed { .. } => "{}".to_owned(),
        };
        Called::new(self.id.clone(), self.repeatable_name(), arguments)
    }
}

impl ToolCall {
    /// The name in what endpoints take for one, which no model has to keep to.
    fn repeatable_name(&self) -> String {
        const LONGEST: usize = 64;
        let is_taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let name = self.name.chars().take(LONGEST);
        let name: String = name.map(|c| if is_taken(c) { c } else { '_' }).collect();
        if name.is_empty() { "unnamed".to_owned() } else { name }
    }
}

impl Arguments {
    /// From the text that a model writes. No text is no arguments.
    pub(super) fn of_text(text: &str) -> Self {
        let malformed = |reason: String| Self::Malformed { text: text.to_owned(), reason };
        match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Self::Object(object),
            Ok(Value::Null) => Self::Object(Map::new()),
            // Some models write the object as a text within the text.
            Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
                Ok(object) => Self::Object(object),
                Err(_) => malformed("a JSON object is wanted, and it is a string".to_owned()),
            },
            Ok(_) => malformed("a JSON object is wanted".to_owned()),
            Err(_) if text.trim().is_empty() => Self::Object(Map::new()),
            Err(error) => malformed(error.to_string()),
        }
    }

    fn of_value(value: Value) -> Self {
        match value {
            Value::String(text) => Self::of_text(&text),
            value => Self::of_text(&value.to_string()),
        }
    }
}

/// That of the next message, or one behind: earlier ones may have been left out, and the ids of calls that
/// were not must not come again.
pub(super) fn number(messages: &[Message]) -> usize {
    let calls = messages.iter().filter_map(|message| match message {
        Message::Assistant { tool_calls, .. } => Some(tool_calls),
        _ => None,
    });
    let ids = || calls.clone().flatten().map(|call| &call.id);
    let is_free = |number: &usize| !ids().any(|id| id.starts_with(&format!("call_{number}_")));
    (messages.len()..).find(is_free).unwrap_or(messages.len())
}

/// An id for a call that has none: no other call of the conversation has it.
pub(super) fn id(message: usize, index: usize) -> String {
    format!("call_{message}_{index}")
}

/// The calls that the text of a message consists of. Small models write them so instead of calling: as one
/// JSON object or several in an array, bare, in a fence of Markdown, or in a tag. What names a tool that
/// `is_tool` does not know is text. It is the message of this number.
pub(super) fn in_text(
    text: &str,
    number: usize,
    is_tool: impl Fn(&str) -> bool,
) -> Option<Vec<ToolCall>> {
    let text = unwrapped(text.trim());
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let calls = match serde_json::from_str(text).ok()? {
        OneOrMore::More(calls) if calls.is_empty() => return None,
        OneOrMore::More(calls) => calls,
        OneOrMore::One(call) => vec![call],
    };
    let calls = calls.into_iter().map(|call| call.into_call().filter(|call| is_tool(&call.name)));
    let mut calls: Vec<ToolCall> = calls.collect::<Option<_>>()?;
    for (index, call) in calls.iter_mut().enumerate() {
        call.id = id(number, index);
    }
    Some(calls)
}

/// Whether a text that begins so may turn out to be a call.
pub(super) fn may_be_call(beginning: &str) -> bool {
    let beginning = beginning.trim_start();
    let may_begin =
        |opening: &str| beginning.starts_with(opening) || opening.starts_with(beginning);
    ["{", "[", "```json", "```\n", "<tool_call>"].into_iter().any(may_begin)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    More(Vec<Written>),
    One(Written),
}

/// The names under which models write a call.
#[derive(Deserialize)]
struct Written {
    #[serde(alias = "tool", alias = "tool_name")]
    name: Option<String>,
    #[serde(alias = "parameters", alias = "params", alias = "args", alias = "input")]
    arguments: Option<Value>,
    function: Option<Function>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Function {
    Nested(Box<Written>),
    Name(String),
}

impl Written {
    fn into_call(self) -> Option<ToolCall> {
        let name = match (self.name, self.function) {
            (Some(name), _) | (None, Some(Function::Name(name))) => name,
            (None, Some(Function::Nested(written))) => return written.into_call(),
            (None, None) => return None,
        };
        // Without arguments, an object with a name is data as likely as a call.
        let arguments = Arguments::of_value(self.arguments?);
        Some(ToolCall { id: String::new(), name, arguments })
    }
}

/// What stands in a fence or a tag.
fn unwrapped(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) {
        return rest.strip_prefix("json").unwrap_or(rest).trim();
    }
    if let Some(rest) = text.strip_prefix("<tool_call>") {
        return rest.strip_suffix("</tool_call>").unwrap_or(rest).trim();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&[(&str, &str)]>) {
        let found = in_text(text, 0, |name| name == "add");
        let found = found.map(|calls| {
            calls.iter().map(|call| (call.name.clone(), call.called().function.arguments)).collect()
        });
        let owned =
            |(name, arguments): &(&str, &str)| ((*name).to_owned(), (*arguments).to_owned());
        assert_eq!(
            found,
            expected.map(|calls| calls.iter().map(owned).collect::<Vec<_>>()),
            "{text}"
        );
    }

    #[test]
    fn calls_in_texts() {
        let add = &[("add", r#"{"a":1}"#)][..];
        check(r#"{"name": "add", "arguments": {"a": 1}}"#, Some(add));
        check(r#" {"name": "add", "parameters": {"a": 1}} "#, Some(add));
        check(r#"{"tool": "add", "args": "{\"a\":1}"}"#, Some(add));
        check(r#"{"function": {"name": "add", "arguments": {"a": 1}}}"#, Some(add));
        check(r#"{"function": "add", "arguments": {"a": 1}}"#, Some(add));
        check("```json\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n```", Some(add));
        check(r#"<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>"#, Some(add));
        check(r#"[{"name": "add", "arguments": {"a": 1}}]"#, Some(add));

        check(r#"{"name": "remove", "arguments": {"a": 1}}"#, None);
        check(r#"{"name": "add"}"#, None);
        check(r#"{"sum": 3}"#, None);
        check("[]", None);
        check("The sum is 3.", None);
        check(r#"Call {"name": "add", "arguments": {}}"#, None);
    }

    #[test]
    fn arguments_are_objects() {
        for (text, expected) in [
            ("{}", Some("{}")),
            ("", Some("{}")),
            ("null", Some("{}")),
            (r#""{\"a\":1}""#, Some(r#"{"a":1}"#)),
            (r#"{"a":"#, None),
            ("[1]", None),
            ("3", None),
            (r#""a""#, None),
        ] {
            let found = match Arguments::of_text(text) {
                Arguments::Object(object) => Some(Value::from(object).to_string()),
                Arguments::Malformed { .. } => None,
            };
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
