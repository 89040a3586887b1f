//! What a model wants to have called.

use serde::Deserialize;
use serde_json::{Map, Value};
use trunkline::limits::DistinctKeys;
use uuid::Uuid;

use super::error::ModelError;
use super::message::Called;

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
    /// A text that no call can be made with, and why.
    Malformed {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// More calls than any model makes at once; those behind are an error, not an allocation.
const MOST: usize = 128;

/// Whether a message may have so many calls.
pub(super) fn check_count(calls: usize) -> Result<(), ModelError> {
    if calls > MOST {
        return Err(ModelError::malformed(format!("more than {MOST} calls")));
    }
    Ok(())
}

impl ToolCall {
    /// A call by the name that a model writes: some add blanks, or the namespace of their training.
    pub(super) fn new(id: String, name: &str, arguments: Arguments) -> Self {
        let name = name.trim();
        let name = name.strip_prefix("functions.").unwrap_or(name).to_owned();
        Self { id, name, arguments }
    }

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
        let malformed = |reason: String| {
            let reason = format!("the arguments are no JSON object: {reason}");
            Self::Malformed { text: text.to_owned(), reason }
        };
        let read = |text: &str| serde_json::from_str(text).map(|DistinctKeys(value)| value);
        match read(text) {
            Ok(Value::Object(object)) => Self::Object(object),
            Ok(Value::Null) => Self::Object(Map::new()),
            // Some models write the object as a text within the text.
            Ok(Value::String(inner)) => match read(&inner) {
                Ok(Value::Object(object)) => Self::Object(object),
                Err(error) if error.is_data() => malformed(error.to_string()),
                _ => malformed("they are a string".to_owned()),
            },
            Ok(_) => malformed("they are another value".to_owned()),
            Err(_) if text.trim().is_empty() => Self::Object(Map::new()),
            Err(error) => malformed(error.to_string()),
        }
    }

    /// Those of a call behind which the reply was cut: what is missing, nobody knows.
    pub(super) fn cut(&self) -> Self {
        let text = match self {
            Self::Object(object) => Value::from(object.clone()).to_string(),
            Self::Malformed { text, .. } => text.clone(),
        };
        let reason = "the reply was cut in this call, at the model's limit of output: make it again, \
                      with shorter arguments";
        Self::Malformed { text, reason: reason.to_owned() }
    }

    fn of_value(value: Value) -> Self {
        match value {
            Value::String(text) => Self::of_text(&text),
            value => Self::of_text(&value.to_string()),
        }
    }
}

/// A new id, for a call that has none: no other call of any conversation has it. Nine letters and digits are
/// what the strictest endpoints take.
pub(crate) fn id() -> String {
    let (_, mut number) = Uuid::now_v7().as_u64_pair();
    let mut digit = || {
        let digit = char::from_digit((number % 36) as u32, 36).unwrap_or('0');
        number /= 36;
        digit
    };
    (0..9).map(|_| digit()).collect()
}

/// Whether it is an id that any endpoint takes again, and that is worth its place in each request.
pub(super) fn is_id(id: &str) -> bool {
    const LONGEST: usize = 64;
    let is_taken = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.' | b':');
    (1..=LONGEST).contains(&id.len()) && id.bytes().all(is_taken)
}

/// The calls that the text of a message consists of. Small models write them so instead of calling: as JSON
/// objects or arrays of them, bare, in a fence of Markdown, or in tags. What names a tool that `is_tool` does
/// not know is text: there are no calls, then.
pub(super) fn in_text(
    text: &str,
    is_tool: impl Fn(&str) -> bool,
) -> Result<Vec<ToolCall>, ModelError> {
    let written = written(text).unwrap_or_default().into_iter();
    let calls = written.map(|call| call.into_call().filter(|call| is_tool(&call.name)));
    let calls: Vec<_> = calls.collect::<Option<_>>().unwrap_or_default();
    check_count(calls.len())?;
    Ok(calls)
}

/// What the text consists of, if that is nothing but calls.
fn written(text: &str) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    for piece in unwrapped(text.trim())? {
        for written in serde_json::Deserializer::from_str(piece).into_iter() {
            calls.extend(match written.ok()? {
                OneOrMore::More(calls) => calls,
                OneOrMore::One(call) => vec![call],
            });
        }
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
    arguments: Option<DistinctKeys>,
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
        let arguments = Arguments::of_value(self.arguments?.0);
        Some(ToolCall::new(id(), &name, arguments))
    }
}

/// What stands in a fence, or in each of the tags. None if there is a text between them.
fn unwrapped(text: &str) -> Option<Vec<&str>> {
    const OPENING: &str = "<tool_call>";
    if let Some(rest) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) {
        return Some(vec![rest.strip_prefix("json").unwrap_or(rest)]);
    }
    if !text.starts_with(OPENING) {
        return Some(vec![text]);
    }
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        rest = rest.strip_prefix(OPENING)?;
        // Some models leave the last one open.
        let (piece, behind) = rest.split_once("</tool_call>").unwrap_or((rest, ""));
        pieces.push(piece);
        rest = behind.trim_start();
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = in_text(text, |name| name == "add").unwrap();
        let told = |call: &ToolCall| (call.name.clone(), call.called().function.arguments);
        let found: Vec<_> = found.iter().map(told).collect();
        let owned =
            |(name, arguments): &(&str, &str)| ((*name).to_owned(), (*arguments).to_owned());
        let expected: Vec<_> = expected.iter().map(owned).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn calls_in_texts() {
        let add = &[("add", r#"{"a":1}"#)][..];
        check(r#"{"name": "add", "arguments": {"a": 1}}"#, add);
        check(r#" {"name": "add", "parameters": {"a": 1}} "#, add);
        check(r#"{"tool": "add", "args": "{\"a\":1}"}"#, add);
        check(r#"{"function": {"name": "add", "arguments": {"a": 1}}}"#, add);
        check(r#"{"function": "add", "arguments": {"a": 1}}"#, add);
        check("```json\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n```", add);
        check(r#"<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>"#, add);
        check(r#"[{"name": "add", "arguments": {"a": 1}}]"#, add);
        check(r#"{"name": " functions.add\n", "arguments": {"a": 1}}"#, add);
        let one = r#"{"name": "add", "arguments": {"a": 1}}"#;
        let two = &[add[0], add[0]][..];
        check(&format!("<tool_call>{one}</tool_call>\n<tool_call>\n{one}\n</tool_call>"), two);
        check(&format!("<tool_call>{one}</tool_call><tool_call>{one}"), two);
        check(&format!("<tool_call>{one}\n{one}</tool_call>"), two);
        check(&format!("{one}\n{one}"), two);
        check(&format!("<tool_call>{one}</tool_call> and <tool_call>{one}</tool_call>"), &[]);
        check(&format!("<tool_call>{one}</tool_call><tool_call>{{\"name\""), &[]);

        check(r#"{"name": "remove", "arguments": {"a": 1}}"#, &[]);
        check(r#"{"name": "add"}"#, &[]);
        check(r#"{"sum": 3}"#, &[]);
        check(r#"{"name": "add", "arguments": {"a": 1, "a": 2}}"#, &[]);
        check("[]", &[]);
        check("The sum is 3.", &[]);
        check(r#"Call {"name": "add", "arguments": {}}"#, &[]);
    }

    #[test]
    fn ids() {
        for (id, expected) in [
            ("call_0", true),
            ("functions.add:0", true),
            (&*"x".repeat(64), true),
            (&"x".repeat(65), false),
            ("", false),
            ("a b", false),
            ("é", false),
        ] {
            assert_eq!(is_id(id), expected, "{id}");
        }
        let ids: std::collections::HashSet<_> = (0..1_000).map(|_| id()).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| is_id(id) && id.len() == 9), "{ids:?}");
    }

    #[test]
    fn arguments_are_objects() {
        for (text, expected) in [
            ("{}", Some("{}")),
            ("", Some("{}")),
            ("null", Some("{}")),
            (r#""{\"a\":1}""#, Some(r#"{"a":1}"#)),
            (r#"{"a":"#, None),
            (r#"{"a":{"b":1,"b":2}}"#, None),
            (r#""{\"a\":1,\"a\":2}""#, None),
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
