//! The descriptions of methods by `#[rpc]` and `#[derive(RpcError)]`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::openrpc::Example;
use trunkline::protocol::Description;
use trunkline::{Effect, ErrorDescription, JsonSchema, RpcError, Schema, State, rpc};

/// A type without a schema.
#[derive(Serialize, Deserialize)]
struct Plain;

/// A comment, with answers.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Comment {
    /// Its text.
    text: String,
    answers: Vec<Comment>,
}

type Maybe<T> = Option<T>;

mod alias {
    pub(super) type Result<T> = std::result::Result<T, super::ParseError>;
}

#[derive(Debug, PartialEq, RpcError)]
enum ParseError {
    #[rpc(code = 1, message = "empty")]
    Empty,
    #[rpc(code = 2, message = "{found:?} at {position:>3?}")]
    Unexpected { found: char, position: Option<u8> },
    #[rpc(code = 3, message = "not {0}")]
    Not(String),
    #[rpc(code = 4, message = "{1} of {0}")]
    Short(u8, u8),
    #[rpc(internal, message = "{0}")]
    Internal(String),
}

struct Parser;

#[rpc(namespace = "parser")]
impl Parser {
    /// Takes params of every kind.
    #[rpc(read_only, idempotent, closed_world, title = "Parse", tool = "parse")]
    #[example("a number", text = "7", base = 8 => { "value": 7, "rest": [null] })]
    #[example(text = "-" => -1)]
    fn parse(
        &self,
        /// The text
        /// to parse.
        ///
        /// Any text.
        text: String,
        #[param(default = 5 + 5)] base: u8,
        /// Whatever.
        plain: Plain,
        #[param(variadic)] rest: Vec<u8>,
    ) -> Result<Value, ParseError> {
        let _ = (base, plain, rest);
        Ok(text.into())
    }

    #[rpc(additive)]
    fn add(&self, comment: Comment) -> Comment {
        comment
    }

    #[rpc(destructive)]
    fn clear(&self) {}

    #[notification]
    #[example]
    fn log(
        &self,
        #[extract] State(()): State<()>,
        #[param(default = 1)] level: u8,
        #[param(name = "from", default = "here".to_owned())] r#in: String,
    ) {
        let _ = (level, r#in);
    }

    fn plain(&self, #[param(default = Plain)] plain: Plain) -> Plain {
        plain
    }

    fn aliased(&self) -> alias::Result<u8> {
        Ok(1)
    }

    fn fixed(&self, maybe: Maybe<i64>) -> Result<&'static str, ParseError> {
        let _ = maybe;
        Err(ParseError::Internal("no text".to_owned()))
    }
}

fn described(method: &str) -> Description {
    let rpc = Parser.into_router::<()>().build().unwrap();
    let operations = rpc.operations();
    let operation = operations.iter().find(|operation| operation.name() == method);
    operation.unwrap().description().clone()
}

#[track_caller]
fn check_input(method: &str, expected: Value) {
    assert_eq!(described(method).input.unwrap().as_value(), &expected, "{method}");
}

#[test]
fn params_are_described_by_their_types() {
    let expected = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "description": "The text to parse.\n\nAny text." },
            "base": { "type": "integer", "minimum": 0, "maximum": 255, "default": 10 },
            "plain": { "description": "Whatever." },
            "rest": {
                "type": "array",
                "items": { "type": "integer", "minimum": 0, "maximum": 255 },
            },
        },
        "required": ["text", "plain"],
        "additionalProperties": false,
    });
    check_input("parser.parse", expected);
    let order = ["text", "base", "plain", "rest"];
    assert_eq!(described("parser.parse").params, order);
    let log = json!({
        "type": "object",
        "properties": {
            "level": { "type": "integer", "minimum": 0, "maximum": 255, "default": 1 },
            "from": { "type": "string", "default": "here" },
        },
        "additionalProperties": false,
    });
    check_input("parser.log", log);
    let maybe = json!({
        "type": "object",
        "properties": { "maybe": { "type": "integer" } },
        "additionalProperties": false,
    });
    check_input("parser.fixed", maybe);
    // The default null is omitted, since a missing param is null.
    let plain = json!({
        "type": "object",
        "properties": { "plain": {} },
        "additionalProperties": false,
    });
    check_input("parser.plain", plain);
    let none = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    check_input("parser.clear", none);
}

#[test]
fn recursive_types_have_definitions() {
    let expected = json!({
        "type": "object",
        "properties": {
            "comment": {
                "type": "object",
                "description": "A comment, with answers.",
                "properties": {
                    "text": { "type": "string", "description": "Its text." },
                    "answers": { "type": "array", "items": { "$ref": "#/$defs/Comment" } },
                },
                "required": ["text", "answers"],
            },
        },
        "required": ["comment"],
        "additionalProperties": false,
        "$defs": {
            "Comment": {
                "type": "object",
                "description": "A comment, with answers.",
                "properties": {
                    "text": { "type": "string", "description": "Its text." },
                    "answers": { "type": "array", "items": { "$ref": "#/$defs/Comment" } },
                },
                "required": ["text", "answers"],
            },
        },
    });
    check_input("parser.add", expected);
}

#[track_caller]
fn check_output(method: &str, expected: impl Into<Option<Value>>) {
    let found = described(method).output.map(|schema| schema.as_value().clone());
    assert_eq!(found, expected.into(), "{method}");
}

#[test]
fn results_with_a_schema_are_described() {
    check_output("parser.parse", json!({}));
    check_output("parser.clear", json!({ "type": "null" }));
    check_output("parser.log", None);
    check_output("parser.plain", None);
    check_output("parser.aliased", json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
    check_output("parser.fixed", json!({ "type": "string" }));
}

#[test]
fn attributes_are_part_of_the_description() {
    let parse = described("parser.parse");
    assert_eq!(parse.title.as_deref(), Some("Parse"));
    assert_eq!(parse.tool.as_deref(), Some("parse"));
    assert_eq!(parse.text.as_deref(), Some("Takes params of every kind."));
    assert!(parse.idempotent && parse.closed_world && parse.variadic && !parse.notification);

    let log = described("parser.log");
    assert!(log.notification && !log.idempotent && !log.closed_world && log.tool.is_none());

    let effects = [
        ("parser.parse", Some(Effect::ReadOnly)),
        ("parser.add", Some(Effect::Additive)),
        ("parser.clear", Some(Effect::Destructive)),
        ("parser.log", None),
    ];
    for (method, effect) in effects {
        assert_eq!(described(method).effect, effect, "{method}");
    }
}

#[test]
fn examples_are_calls_by_name() {
    let expected = [
        Example::new(
            "a number",
            [("text", json!("7")), ("base", json!(8))],
            json!({ "value": 7, "rest": [null] }),
        ),
        Example::new("text = \"-\"", [("text", json!("-"))], -1),
    ];
    assert_eq!(described("parser.parse").examples, expected);
    let expected = [Example::new("without params", [], Value::Null)];
    assert_eq!(described("parser.log").examples, expected);
}

#[test]
fn errors_are_described_by_their_enum() {
    let schema = |schema: Value| Some(Schema::from(schema));
    let byte = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    let unexpected = json!({
        "type": "object",
        "properties": {
            "found": { "type": "string", "minLength": 1, "maxLength": 1 },
            "position": { "type": ["integer", "null"], "minimum": 0, "maximum": 255 },
        },
        "required": ["found", "position"],
    });
    let short = json!({
        "type": "array",
        "prefixItems": [byte.clone(), byte],
        "minItems": 2,
        "maxItems": 2,
    });
    let expected = [
        ErrorDescription::new(1, "empty"),
        ErrorDescription::new(2, "{found} at {position}").with_data(schema(unexpected)),
        ErrorDescription::new(3, "not {0}").with_data(schema(json!({ "type": "string" }))),
        ErrorDescription::new(4, "{1} of {0}").with_data(schema(short)),
    ];
    for method in ["parser.parse", "parser.aliased", "parser.fixed"] {
        assert_eq!(described(method).errors, expected, "{method}");
    }
    assert_eq!(described("parser.plain").errors, []);
}

/// Messages from `thiserror`.
#[derive(Debug, thiserror::Error, RpcError)]
enum Displayed {
    #[error("no table {}", .table.to_uppercase())]
    #[rpc(code = 10)]
    NoTable { table: String },
    #[error(transparent)]
    #[rpc(code = 11)]
    BadNumber(Wrapped),
    #[error("interrupted")]
    #[rpc(code = 12)]
    Interrupted,
}

#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[error("wrapped")]
struct Wrapped;

/// A manual implementation of `Display`.
#[derive(Debug, RpcError)]
enum Manual {
    #[rpc(code = 13)]
    Busy,
    #[rpc(code = 14)]
    VeryBusy(u8),
}

impl std::fmt::Display for Manual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Busy => f.write_str("occupied"),
            Self::VeryBusy(times) => write!(f, "occupied {times} times"),
        }
    }
}

#[derive(Debug, RpcError)]
#[rpc(code = 15, message = "{key:?} is taken")]
struct Generic<K: std::fmt::Debug> {
    key: K,
}

/// Compares codes, messages and the schemas of data.
#[track_caller]
fn check_errors<E: RpcError>(expected: &[(i64, &str, Option<Value>)]) {
    let found: Vec<_> = E::descriptions()
        .into_iter()
        .map(|error| (error.code, error.message, error.data.map(|data| data.as_value().clone())))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(code, message, data)| (*code, (*message).to_owned(), data.clone()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn messages_are_taken_from_attributes_or_variant_names() {
    let object = |name: &str, schema: Value| {
        let properties = json!({ name: schema });
        Some(json!({ "type": "object", "properties": properties, "required": [name] }))
    };
    check_errors::<Displayed>(&[
        (10, "no table {}", object("table", json!({ "type": "string" }))),
        (11, "bad number", None),
        (12, "interrupted", None),
    ]);
    let byte = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
    check_errors::<Manual>(&[(13, "occupied", None), (14, "very busy", Some(byte))]);
    // The schema of a type parameter is unknown, whatever type is used.
    check_errors::<Generic<u8>>(&[(15, "{key} is taken", object("key", json!(true)))]);
}
