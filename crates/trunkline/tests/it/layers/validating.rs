//! Validation of params against JSON Schemas.

use serde_json::{Value, json};
use trunkline::layers::ValidateLayer;
use trunkline::layers::validation::Validator;
use trunkline::{Extensions, Operation, Params, RawParams, Router, Rpc, Schema, VariadicParams};

use super::{json_of, paused};

fn order() -> Value {
    json!({
        "type": "object",
        "properties": {
            "item": { "type": "string", "maxLength": 300 },
            "counts": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
            "a/b~c": { "$ref": "#/$defs/small" },
        },
        "required": ["item"],
        "additionalProperties": false,
        "$defs": { "small": { "type": "integer", "maximum": 9 } },
    })
}

#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "the handler only reports that it was called")]
struct Order {
    item: String,
    counts: Option<Vec<i64>>,
}

#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "as above")]
struct Placed {
    first: Value,
    second: Value,
}

#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "as above")]
struct Spread {
    first: Value,
    rest: Vec<Value>,
}

fn service() -> Rpc {
    let raw = |name: &str| Operation::new(name, |_: RawParams| "accepted");
    let typed = Operation::new("typed", |_: Params<Order>| "accepted").input_schema(order());
    let variadic = Operation::new("variadic", |_: VariadicParams<Order>| "accepted");
    let placed = Operation::new("placed", |_: Params<Placed>| "accepted");
    let spread = Operation::new("spread", |_: VariadicParams<Spread>| "accepted");
    Router::new()
        .operation(raw("raw").input_schema(order()))
        .operation(raw("free"))
        .operation(raw("broken").input_schema(json!({ "type": "no such type" })))
        .operation(raw("abroad").input_schema(json!({ "$ref": "https://localhost/schema" })))
        .operation(typed)
        .operation(variadic.input_schema(order()))
        .operation(raw("nested").input_schema(json!(true)))
        .operation(placed.input_schema(json!(true)))
        .operation(spread.input_schema(json!(true)))
        .layer(ValidateLayer::new())
        .build()
        .unwrap()
}

fn call(rpc: &Rpc, method: &str, params: Option<&str>) -> Value {
    let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
    let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params},"id":1}}"#);
    json_of(paused().block_on(rpc.handle(body.into(), Extensions::new())))
}

/// Checks that params are accepted, or refused with these pointers and reasons.
#[track_caller]
fn check(method: &str, params: impl Into<Value>, expected: &[(&str, &str)]) {
    let params = params.into();
    let text = (!params.is_null()).then(|| params.to_string());
    let reply = call(&service(), method, text.as_deref());
    if expected.is_empty() {
        assert_eq!(reply["result"], json!("accepted"), "{method} {params}: {reply}");
        return;
    }
    let error = |(pointer, reason): &(&str, &str)| json!({ "pointer": pointer, "reason": reason });
    let errors: Vec<_> = expected.iter().map(error).collect();
    let data = json!({ "errors": errors });
    let error = json!({ "code": -32602, "message": "Invalid params", "data": data });
    assert_eq!(reply["error"], error, "{method} {params}");
}

#[test]
fn checks_params_by_name() {
    check("raw", json!({ "item": "tea" }), &[]);
    check("raw", json!({ "item": "tea", "counts": [1, 2], "a/b~c": 9 }), &[]);
    check("raw", json!({}), &[("", "\"item\" is a required property")]);
    check("raw", Value::Null, &[("", "\"item\" is a required property")]);
    check("raw", json!({ "item": 7 }), &[("/item", "this value is not of type \"string\"")]);
    check(
        "raw",
        json!({ "item": "tea", "counts": [0, -1, "x"] }),
        &[
            ("/counts/1", "this value is less than the minimum of 0"),
            ("/counts/2", "this value is not of type \"integer\""),
        ],
    );
    check(
        "raw",
        json!({ "item": "tea", "a/b~c": 10 }),
        &[("/a~1b~0c", "this value is greater than the maximum of 9")],
    );
    let unknown = "Additional properties are not allowed ('itme' was unexpected)";
    check("raw", json!({ "item": "tea", "itme": 1 }), &[("", unknown)]);
    check("free", json!({ "anything": ["goes"] }), &[]);
    check("free", Value::Null, &[]);
}

#[test]
fn checks_params_by_position_under_their_names() {
    check("typed", json!(["tea"]), &[]);
    check("typed", json!(["tea", [1]]), &[]);
    check("typed", json!([7]), &[("/item", "this value is not of type \"string\"")]);
    check(
        "typed",
        json!(["tea", [-1]]),
        &[("/counts/0", "this value is less than the minimum of 0")],
    );
    check("typed", json!([]), &[("", "\"item\" is a required property")]);
    check("typed", json!(["tea", [], 3]), &[("", "3 params by position, at most 2 allowed")]);
    check(
        "raw",
        json!(["tea"]),
        &[("", "params must be an object: the method takes them by name only")],
    );
    check("raw", json!([]), &[("", "\"item\" is a required property")]);
    check("variadic", json!(["tea", 1, 2, 3]), &[]);
    check("variadic", json!(["tea"]), &[]);
    check(
        "variadic",
        json!(["tea", 1, -2]),
        &[("/counts/1", "this value is less than the minimum of 0")],
    );
}

/// The handler might read either of two duplicate members.
#[test]
fn refuses_duplicate_members() {
    #[track_caller]
    fn check(method: &str, params: &str, expected: Option<&str>) {
        let reply = call(&service(), method, Some(params));
        let Some(pointer) = expected else {
            assert_eq!(reply["result"], json!("accepted"), "{params}: {reply}");
            return;
        };
        let errors = json!([{ "pointer": pointer, "reason": "duplicate member" }]);
        let error = json!({
            "code": -32602, "message": "Invalid params", "data": { "errors": errors },
        });
        assert_eq!(reply["error"], error, "{method} {params}");
    }
    check("raw", r#"{"item":7,"item":"tea"}"#, Some("/item"));
    check("raw", r#"{"item":"tea","\u0069tem":"tea"}"#, Some("/item"));
    check("raw", r#"{"item":"tea","a/b~c":10,"a/b~c":9}"#, Some("/a~1b~0c"));
    check("nested", r#"{"lines":[{"n":1},{"n":1,"m":2,"n":3}]}"#, Some("/lines/1/n"));
    check("nested", r#"{"lines":[{"n":1},{"n":1,"m":{"n":3}}],"n":2}"#, None);
    check("placed", r#"[1,{"a":1,"a":2}]"#, Some("/second/a"));
    check("spread", r#"[1,{},{"a":1,"a":2}]"#, Some("/rest/1/a"));
    check("free", r#"{"a":1,"a":2}"#, None);
}

#[test]
fn limits_the_size_of_errors() {
    let counts: Vec<_> = (1..8).map(|count| -count).collect();
    let reply =
        call(&service(), "raw", Some(&json!({ "item": "tea", "counts": counts }).to_string()));
    let data = &reply["error"]["data"];
    assert_eq!(data["errors"].as_array().unwrap().len(), 5);
    assert_eq!(data["more"], json!(true));

    // Errors contain no values, and truncated names.
    let unknown = json!({ "item": "tea", ("é".repeat(301)): 1 });
    let reply = call(&service(), "raw", Some(&unknown.to_string()));
    let reason = reply["error"]["data"]["errors"][0]["reason"].as_str().unwrap();
    assert_eq!(reason.chars().count(), 201, "{reason}");
    assert!(reason.ends_with('…'), "{reason}");

    // Errors of large params contain only the names.
    check(
        "raw",
        json!({ "item": "tea", "counts": vec![-1; 10_000] }),
        &[("/counts", "does not match the schema")],
    );
    let huge = "x".repeat(100_000);
    check(
        "raw",
        json!({ "itme": huge }),
        &[("", "a required param is missing, or a name is unknown")],
    );
    check("raw", json!({ "item": "tea", "counts": vec![1; 100_000] }), &[]);
}

#[test]
fn an_invalid_schema_fails_calls_and_is_found_by_the_validator() {
    let rpc = service();
    for (method, params) in [("broken", "{}"), ("broken", "[]"), ("abroad", "{}")] {
        assert_eq!(call(&rpc, method, Some(params))["error"]["code"], json!(-32603), "{method}");
    }
    let operations = rpc.operations();
    let operation = operations.iter().find(|operation| operation.name() == "broken");
    let schema: &Schema = operation.unwrap().description().input.as_ref().unwrap();
    let error = Validator::new(schema).unwrap_err().to_string();
    assert!(error.starts_with("invalid schema: "), "{error}");
}

#[test]
fn params_outside_of_the_number_range() {
    let reply = call(&service(), "raw", Some(r#"{"item":1e999}"#));
    let error = &reply["error"]["data"]["errors"][0];
    assert_eq!(reply["error"]["code"], json!(-32602));
    assert_eq!(error["pointer"], json!(""));
    assert!(error["reason"].as_str().unwrap().contains("number out of range"), "{error}");
}
