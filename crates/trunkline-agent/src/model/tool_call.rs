//! The tool calls that a model requests.

use serde::Deserialize;
use serde_json::{Map, Value};
use trunkline::limits::DistinctKeys;
use uuid::Uuid;

use super::error::ModelError;
use super::extra::ExtraMembers;
use super::message::MessageToolCall;

/// A call that a model requests. It is not validated, except that the arguments are an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Its id in the conversation.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// Members that the API does not define.
    pub extra: ExtraMembers,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// Valid arguments.
    Object(Map<String, Value>),
    /// Invalid arguments.
    Malformed {
        /// The text.
        text: String,
        /// The problem.
        reason: String,
    },
}

/// The maximum number of calls of a message, which bounds the memory.
const MAX_CALLS: usize = 128;

/// Checks the number of calls of a message.
pub(super) fn check_count(calls: usize) -> Result<(), ModelError> {
    if calls > MAX_CALLS {
        return Err(ModelError::malformed(format!("more than {MAX_CALLS} calls")));
    }
    Ok(())
}

impl ToolCall {
    /// A call by the name that a model writes.
    pub(crate) fn new(id: String, name: &str, arguments: Arguments) -> Self {
        let name = plain_name(name).to_owned();
        Self { id, name, arguments, extra: ExtraMembers::default() }
    }

    /// The call as part of the conversation. Invalid arguments are replaced by `{}`: some servers reject a
    /// conversation with them, and models repeat them.
    #[must_use]
    pub fn to_message_call(&self) -> MessageToolCall {
        let arguments = match &self.arguments {
            Arguments::Object(object) => {
                serde_json::to_string(object).expect("values serialise into memory")
            }
            Arguments::Malformed { .. } => "{}".to_owned(),
        };
        let mut call = MessageToolCall::new(self.id.clone(), self.wire_name(), arguments);
        call.extra = self.extra.clone();
        call
    }
}

impl ToolCall {
    /// The name in the characters that endpoints accept, since a model may write any.
    fn wire_name(&self) -> String {
        const MAX_LENGTH: usize = 64;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let name = self.name.chars().take(MAX_LENGTH);
        let name: String = name.map(|c| if is_allowed(c) { c } else { '_' }).collect();
        if name.is_empty() { "unnamed".to_owned() } else { name }
    }
}

impl Arguments {
    /// Parses the text that a model writes. An empty text means an empty object.
    pub(super) fn parse(text: &str) -> Self {
        let malformed = |reason: String| {
            let reason = format!("the arguments are not a JSON object: {reason}");
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
                _ => malformed("found a string".to_owned()),
            },
            Ok(_) => malformed("found another type".to_owned()),
            Err(_) if text.trim().is_empty() => Self::Object(Map::new()),
            Err(error) => malformed(error.to_string()),
        }
    }

    /// The arguments of the last call of a truncated reply, which may be incomplete.
    pub(super) fn truncated(&self) -> Self {
        let text = match self {
            Self::Object(object) => Value::from(object.clone()).to_string(),
            Self::Malformed { text, .. } => text.clone(),
        };
        let reason = "the reply was truncated in this call, at the model's output limit; repeat the call \
                with shorter arguments";
        Self::Malformed { text, reason: reason.to_owned() }
    }

    fn from_value(value: Value) -> Self {
        match value {
            Value::String(text) => Self::parse(&text),
            value => Self::parse(&value.to_string()),
        }
    }
}

/// The name without what some models add to it from their training: white space, special tokens and what follows them,
/// the namespace of the tools, the number or the parentheses of a call.
fn plain_name(name: &str) -> &str {
    const NAMESPACES: [&str; 3] = ["functions", "function", "default_api"];
    // A name may begin with tokens and the recipient of a message: `<|channel|>commentary to=functions.add`.
    let name = name.rsplit_once("to=").map_or(name, |(_, recipient)| recipient).trim();
    let name = name.trim_start_matches("<|").split("<|").next().unwrap_or(name);
    let name = name.split(['<', '\n']).next().unwrap_or(name).trim();
    let name = name.strip_suffix("()").unwrap_or(name);
    let is_namespace = |(namespace, _): &(&str, &str)| NAMESPACES.contains(namespace);
    let name = name.split_once(['.', ':']).filter(is_namespace).map_or(name, |(_, name)| name);
    let is_numbered = |(name, number): &(&str, &str)| {
        !name.is_empty() && !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
    };
    name.rsplit_once(':').filter(is_numbered).map_or(name, |(name, _)| name)
}

/// Generates an id for a call without one, unique across conversations. The strictest endpoints accept nine letters
/// and digits.
pub(crate) fn id() -> String {
    let (_, mut number) = Uuid::now_v7().as_u64_pair();
    let mut digit = || {
        let digit = char::from_digit((number % 36) as u32, 36).unwrap_or('0');
        number /= 36;
        digit
    };
    (0..9).map(|_| digit()).collect()
}

/// Whether an id is accepted by all endpoints, and short enough to be repeated in each request.
pub(super) fn is_id(id: &str) -> bool {
    const MAX_LENGTH: usize = 64;
    let is_allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.' | b':');
    (1..=MAX_LENGTH).contains(&id.len()) && id.bytes().all(is_allowed)
}

/// Parses the calls in a text that consists only of calls. Small models write calls as text: as JSON objects or
/// arrays of them, bare, in a Markdown fence, or in tags. If one of them names an unknown tool, returns none.
pub(super) fn calls_in_text(
    text: &str,
    is_tool: impl Fn(&str) -> bool,
) -> Result<Vec<ToolCall>, ModelError> {
    let calls = parse_calls(text).unwrap_or_default().into_iter();
    let calls = calls.map(|call| call.into_call().filter(|call| is_tool(&call.name)));
    let calls: Vec<_> = calls.collect::<Option<_>>().unwrap_or_default();
    check_count(calls.len())?;
    Ok(calls)
}

/// Parses a text that consists only of calls.
fn parse_calls(text: &str) -> Option<Vec<TextCall>> {
    if text.trim_start().starts_with("<|") {
        return harmony_calls(text);
    }
    let mut calls = Vec::new();
    for piece in unwrap_fence(text.trim())? {
        for call in serde_json::Deserializer::from_str(piece).into_iter() {
            calls.extend(match call.ok()? {
                OneOrMore::More(calls) => calls,
                OneOrMore::One(call) => vec![call],
            });
        }
    }
    Some(calls)
}

/// Parses the messages to tools in a text in the Harmony format, which gpt-oss writes:
/// `<|start|>assistant<|channel|>commentary to=functions.add<|message|>{"a": 1}<|call|>`.
fn harmony_calls(text: &str) -> Option<Vec<TextCall>> {
    let messages = text.split("<|start|>").filter_map(|message| message.split_once("<|message|>"));
    let calls = messages.filter_map(|(head, body)| {
        let recipient = head.split_once("to=")?.1.split_whitespace().next()?;
        Some((recipient.to_owned(), body))
    });
    let to_call = |(name, body)| {
        let arguments = serde_json::Deserializer::from_str(body).into_iter().next()?.ok()?;
        Some(TextCall { name: Some(name), arguments: Some(arguments), function: None })
    };
    calls.map(to_call).collect()
}

/// Whether a text with this beginning may be a call.
pub(super) fn may_be_call(beginning: &str) -> bool {
    let beginning = beginning.trim_start();
    let may_begin =
        |opening: &str| beginning.starts_with(opening) || opening.starts_with(beginning);
    const OPENINGS: [&str; 7] =
        ["{", "[", "```json", "```\n", "<tool_call>", "<|start|>", "<|channel|>"];
    OPENINGS.into_iter().any(may_begin)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    More(Vec<TextCall>),
    One(TextCall),
}

/// A call in the formats that models write.
#[derive(Deserialize)]
struct TextCall {
    #[serde(alias = "tool", alias = "tool_name")]
    name: Option<String>,
    #[serde(alias = "parameters", alias = "params", alias = "args", alias = "input")]
    arguments: Option<DistinctKeys>,
    function: Option<Function>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Function {
    Nested(Box<TextCall>),
    Name(String),
}

impl TextCall {
    fn into_call(self) -> Option<ToolCall> {
        let name = match (self.name, self.function) {
            (Some(name), _) | (None, Some(Function::Name(name))) => name,
            (None, Some(Function::Nested(call))) => return call.into_call(),
            (None, None) => return None,
        };
        // An object with a name but without arguments is as likely data as a call.
        let arguments = Arguments::from_value(self.arguments?.0);
        Some(ToolCall::new(id(), &name, arguments))
    }
}

/// The contents of the fence, or of each of the tags. `None` if there is text between the tags.
fn unwrap_fence(text: &str) -> Option<Vec<&str>> {
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
        // Some models do not close the last tag.
        let (piece, after) = rest.split_once("</tool_call>").unwrap_or((rest, ""));
        pieces.push(piece);
        rest = after.trim_start();
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = calls_in_text(text, |name| name == "add").unwrap();
        let to_pair =
            |call: &ToolCall| (call.name.clone(), call.to_message_call().function.arguments);
        let found: Vec<_> = found.iter().map(to_pair).collect();
        let owned =
            |(name, arguments): &(&str, &str)| ((*name).to_owned(), (*arguments).to_owned());
        let expected: Vec<_> = expected.iter().map(owned).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn finds_calls_in_text() {
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

        let call = |head: &str| format!(r#"<|channel|>{head}<|message|>{{"a": 1}}<|call|>"#);
        for head in ["commentary to=functions.add <|constrain|>json", "analysis to=add code"] {
            check(&call(head), add);
            let reasoned = "<|channel|>analysis<|message|>to=add<|end|><|start|>assistant";
            check(&format!("{reasoned}{}", call(head)), add);
        }
        check(
            r#"<|start|>assistant to=functions.add<|channel|>commentary<|message|>{"a": 1}"#,
            add,
        );
        check(&call("commentary to=functions.remove"), &[]);
        check(&call("final"), &[]);
        check("<|channel|>commentary to=functions.add<|message|>a", &[]);

        check(r#"{"name": "remove", "arguments": {"a": 1}}"#, &[]);
        check(r#"{"name": "add"}"#, &[]);
        check(r#"{"sum": 3}"#, &[]);
        check(r#"{"name": "add", "arguments": {"a": 1, "a": 2}}"#, &[]);
        check("[]", &[]);
        check("The sum is 3.", &[]);
        check(r#"Call {"name": "add", "arguments": {}}"#, &[]);
    }

    #[test]
    fn names_are_plain() {
        for (name, expected) in [
            ("list_tables", "list_tables"),
            (" list_tables\n", "list_tables"),
            ("list_tables<|channel|>commentary", "list_tables"),
            ("list_tables<|channel|>", "list_tables"),
            ("list_tables <|constrain|>json", "list_tables"),
            ("list_tables<|message|>{\"a\": 1}", "list_tables"),
            ("functions.list_tables", "list_tables"),
            ("functions.list_tables<|channel|>json", "list_tables"),
            ("functions.list_tables:0", "list_tables"),
            ("default_api:list_tables", "list_tables"),
            ("default_api.list_tables", "list_tables"),
            ("list_tables:12", "list_tables"),
            ("list_tables()", "list_tables"),
            ("<|channel|>commentary to=functions.list_tables", "list_tables"),
            ("list_tables</function>", "list_tables"),
            ("list_tables\n<parameter=a>", "list_tables"),
            // Names of operations.
            ("db.list_tables", "db.list_tables"),
            ("tool.list_tables", "tool.list_tables"),
            ("db.functions.list", "db.functions.list"),
            ("a:b", "a:b"),
            (":1", ":1"),
            ("functions", "functions"),
            ("", ""),
            ("<|constrain|>json", "constrain|>json"),
        ] {
            assert_eq!(plain_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn ids_are_accepted_by_all_endpoints() {
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
            let found = match Arguments::parse(text) {
                Arguments::Object(object) => Some(Value::from(object).to_string()),
                Arguments::Malformed { .. } => None,
            };
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
