//! Descriptions of operations in the document.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::openrpc::Example;
use trunkline::{
    ErrorDescription, ErrorObject, Json, JsonSchema, Operation, Params, RawParams, Router,
    RpcError, VariadicParams,
};

use super::document;
use crate::support::add;

#[derive(Deserialize, JsonSchema)]
struct Divide {
    /// The number to divide.
    dividend: f64,
    #[serde(default = "two")]
    divisor: f64,
}

fn two() -> f64 {
    2.0
}

/// An optional param before a required one.
#[derive(Deserialize, JsonSchema)]
struct Search {
    limit: Option<u8>,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Sum {
    #[serde(default)]
    numbers: Vec<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the schema matters")]
enum Shape {
    Square { side: f64 },
}

/// A position.
#[derive(Serialize, JsonSchema)]
struct Point {
    x: f64,
    at: (u8, String),
}

fn divide() -> Operation {
    Operation::new("divide", |Params(Divide { dividend, divisor }): Params<Divide>| {
        dividend / divisor
    })
}

/// Compares the expected members of the only method.
#[track_caller]
fn check(name: &str, operation: Operation, expected: &[(&str, Value)]) {
    let document = document([operation]);
    let method = &document["methods"][0];
    for (member, value) in expected {
        assert_eq!(method.get(member).unwrap_or(&Value::Null), value, "{name}: {member}");
    }
}

#[test]
fn params() {
    let none: fn() = || ();
    let dividend = json!({
        "name": "dividend",
        "description": "The number to divide.",
        "required": true,
        "schema": { "type": "number" },
    });
    let divisor = json!({ "name": "divisor", "schema": { "type": "number", "default": 2.0 } });
    let any = |name| json!({ "name": name, "schema": true });
    check(
        "in the order of their positions",
        divide().input::<Divide>(),
        &[("paramStructure", json!("either")), ("params", json!([dividend, divisor]))],
    );
    check(
        "without schemas",
        divide(),
        &[
            ("paramStructure", json!("either")),
            ("params", json!([any("dividend"), any("divisor")])),
        ],
    );
    check(
        "required ones first, and then positions are others",
        Operation::new("search", |Params(Search { limit, text }): Params<Search>| {
            (limit, text.len())
        })
        .input::<Search>(),
        &[
            ("paramStructure", json!("by-name")),
            (
                "params",
                json!([
                    { "name": "text", "required": true, "schema": { "type": "string" } },
                    {
                        "name": "limit",
                        "schema": { "type": "integer", "minimum": 0, "maximum": 255 },
                    },
                ]),
            ),
        ],
    );
    check(
        "variadic",
        Operation::new("sum", |VariadicParams(sum): VariadicParams<Sum>| sum.numbers.len())
            .input::<Sum>(),
        &[("paramStructure", json!("by-name"))],
    );
    check(
        "without an order",
        Operation::new("raw", |_: RawParams| ()).input_schema(json!({
            "type": "object",
            "properties": { "b": { "type": "string" }, "a": true },
            "required": ["b"],
        })),
        &[
            ("paramStructure", json!("by-name")),
            (
                "params",
                json!([{ "name": "b", "required": true, "schema": { "type": "string" } }, any("a")]),
            ),
        ],
    );
    check(
        "no object",
        Operation::new("raw", |_: Params<Shape>| ()).input::<Shape>(),
        &[("params", json!([]))],
    );
    check(
        "none",
        Operation::new("none", none),
        &[("paramStructure", json!("either")), ("params", json!([]))],
    );
    check(
        "no schema",
        divide().input_schema(json!("number")),
        &[("params", json!([any("dividend"), any("divisor")]))],
    );
    let text = json!({ "properties": { "dividend": { "description": 1, "deprecated": true } } });
    check(
        "deprecated",
        divide().input_schema(text),
        &[(
            "params",
            json!([{ "name": "dividend", "deprecated": true, "schema": {} }, any("divisor")]),
        )],
    );
}

#[derive(Deserialize)]
struct All {
    all: Vec<i64>,
}

#[test]
fn forms_of_params() {
    let rpc = Router::new()
        .method("add", add)
        .method("all", |VariadicParams(All { all }): VariadicParams<All>| all.len())
        .build()
        .unwrap();
    let document: Value = serde_json::from_str(rpc.openrpc().as_json()).unwrap();
    let structures: Vec<_> =
        [0, 1].map(|index| document["methods"][index]["paramStructure"].clone()).into();
    assert_eq!(structures, ["either", "by-name"]);
}

#[test]
fn results() {
    let point = || Json(Point { x: 1.0, at: (1, String::new()) });
    check(
        "a tuple, as draft 7 writes it",
        Operation::new("point", point).output::<Point>(),
        &[(
            "result",
            json!({
                "name": "result",
                "description": "A position.",
                "schema": {
                    "type": "object",
                    "properties": {
                        "x": { "type": "number" },
                        "at": {
                            "type": "array",
                            "items": [
                                { "type": "integer", "minimum": 0, "maximum": 255 },
                                { "type": "string" },
                            ],
                            "minItems": 2,
                            "maxItems": 2,
                        },
                    },
                    "required": ["x", "at"],
                },
            }),
        )],
    );
    check("unknown", divide(), &[("result", json!({ "name": "result", "schema": true }))]);
    check("of a notification", divide().output::<f64>().notification(), &[("result", Value::Null)]);
}

#[test]
fn texts_tags_and_examples() {
    check(
        "declared",
        divide().title("Divide").description("Divides.").destructive().idempotent(),
        &[
            ("summary", json!("Divide")),
            ("description", json!("Divides.")),
            ("tags", json!([{ "name": "destructive" }, { "name": "idempotent" }])),
        ],
    );
    check(
        "not declared",
        divide(),
        &[
            ("summary", Value::Null),
            ("description", Value::Null),
            ("tags", Value::Null),
            ("errors", Value::Null),
            ("examples", Value::Null),
        ],
    );
    let params = [("extra", json!(null)), ("divisor", json!(2)), ("dividend", json!(1))];
    check(
        "an example has the order of the params",
        divide().example(Example::new("a half", params, 0.5)).read_only(),
        &[
            ("tags", json!([{ "name": "read-only" }])),
            (
                "examples",
                json!([{
                    "name": "a half",
                    "params": [
                        { "name": "dividend", "value": 1 },
                        { "name": "divisor", "value": 2 },
                        { "name": "extra", "value": null },
                    ],
                    "result": { "name": "result", "value": 0.5 },
                }]),
            ),
        ],
    );
}

#[test]
fn formats_compact_and_indented() {
    let rpc = Router::new().info("Sums", "2").operation(divide()).build().unwrap();
    let (compact, indented) = (format!("{}", rpc.openrpc()), format!("{:#}", rpc.openrpc()));
    assert!(compact.starts_with(r#"{"openrpc":"1.3.2","info":{"title":"Sums","version":"2"},"#));
    assert!(indented.starts_with("{\n  \"openrpc\": \"1.3.2\",\n  \"info\": {\n"));
    let [compact, indented] =
        [compact, indented].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    assert_eq!(compact, indented);
}

/// Two errors with one code and different data.
#[derive(Debug)]
struct Refused;

impl RpcError for Refused {
    fn into_error_object(self) -> ErrorObject {
        ErrorObject::new(1, "never")
    }

    fn from_error_object(_: &ErrorObject) -> Option<Self> {
        None
    }

    fn descriptions() -> Vec<ErrorDescription> {
        let data = |kind: &str| Some(json!({ "type": kind }).into());
        vec![
            ErrorDescription::new(2, "no {name}").with_data(data("string")),
            ErrorDescription::new(1, "not now"),
            ErrorDescription::new(1, "never").with_data(data("null")),
            ErrorDescription::new(2, "no {name}").with_data(data("integer")),
        ]
    }
}

#[test]
fn errors_of_one_code_are_one_entry() {
    let refuse = || -> Result<(), Refused> { Err(Refused) };
    let data = json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] });
    check(
        "in the order of the first declaration",
        Operation::new("refuse", refuse).errors::<Refused>(),
        &[(
            "errors",
            json!([
                { "code": 2, "message": "no {name}", "data": data },
                { "code": 1, "message": "not now; or: never", "data": { "type": "null" } },
            ]),
        )],
    );
}
