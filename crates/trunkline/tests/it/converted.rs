//! Params in other forms than the input schema of an operation: conversion before layers and handlers read them.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use trunkline::edn::{Edn, FORMAT};
use trunkline::layers::{Next, ValidateLayer, from_fn};
use trunkline::protocol::{Format, Formats};
use trunkline::schemars::JsonSchema;
use trunkline::{Call, Effect, Extensions, Limits, Operation, Params, RawParams, Router, Rpc};

use crate::support::add;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[expect(dead_code, reason = "fields are only formatted with Debug")]
struct Search {
    #[serde(default)]
    limit: u32,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    tags: Vec<u8>,
    text: Option<String>,
    /// Deleted by `null`.
    #[serde(default, deserialize_with = "present")]
    note: Option<Option<String>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The params and the effect that a layer has seen.
type Seen = Arc<Mutex<Vec<String>>>;

fn rpc(seen: &Seen) -> Rpc {
    let shown = |Params(search): Params<Search>| format!("{search:?}");
    let effect = |params: &serde_json::Map<String, Value>| match params.get("dry_run") {
        Some(Value::Bool(true)) => Effect::ReadOnly,
        _ => Effect::Destructive,
    };
    let typed = |name: &str| Operation::new(name, shown).input::<Search>().destructive();
    let text = |RawParams(params): RawParams| params.map(|params| params.get().to_owned());
    let schema =
        json!({ "type": "object", "properties": { "n": { "type": "integer" }, "any": {} } });
    let seen = Arc::clone(seen);
    let record = move |call: Call, next: Next| {
        let params = String::from_utf8_lossy(call.params().unwrap_or_default()).into_owned();
        seen.lock().unwrap().push(format!("{params} {:?}", call.effect()));
        async move { next.run(call).await }
    };
    let validated = Operation::new("validated", text).input_schema(schema.clone());
    Router::new()
        .operation(typed("typed").effect_of(effect))
        .operation(typed("strict").effect_of(effect).strict_params())
        .operation(Operation::new("undeclared", shown))
        .method("add", add)
        .operation(
            Operation::new("edn", |Edn(params): Edn<trunkline::edn::Value>| params.to_string())
                .input_schema(schema),
        )
        .merge(Router::new().operation(validated).layer(ValidateLayer::new()))
        .layer(from_fn(record))
        .limits(Limits { depth: 4, ..Limits::default() })
        .build()
        .unwrap()
}

fn call(rpc: &Rpc, format: Format, body: String) -> Value {
    let formats = Formats { request: format, reply: Format::Json };
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let reply = runtime.block_on(rpc.handle_in(formats, body.into(), Extensions::new()));
    serde_json::from_slice(&reply.into_json().unwrap()).unwrap()
}

/// Checks the result of a call, or the text in its error, and the params and effect that layers see.
#[track_caller]
fn check(method: &str, params: &str, expected: impl Into<Value>, seen_by_layers: &str) {
    let seen = Seen::default();
    let rpc = rpc(&seen);
    let request =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}{id}}}"#);
    let single = call(&rpc, Format::Json, request(r#","id":7"#));
    let batch = format!("[{},{}]", request(""), request(r#","id":7"#));
    let batch = call(&rpc, Format::Json, batch);
    assert_eq!(batch, json!([single]), "{params}");
    assert_eq!(single["id"], 7, "{params}");
    let expected = expected.into();
    match single.get("result") {
        Some(result) => assert_eq!(*result, expected, "{params}"),
        None => {
            let error = single["error"].to_string();
            assert!(error.contains(expected.as_str().unwrap()), "{params}: {error}");
        }
    }
    let seen = seen.lock().unwrap();
    assert_eq!(**seen, vec![seen_by_layers.to_owned(); 3], "{params}");
}

fn shown(limit: u32, dry_run: bool, tags: &str, rest: &str) -> String {
    format!("Search {{ limit: {limit}, dry_run: {dry_run}, tags: {tags}, {rest} }}")
}

#[test]
fn typed_operations_with_a_schema() {
    let rest = "text: None, note: None";
    for (params, expected, seen) in [
        (r#"{"limit":"5"}"#, shown(5, false, "[]", rest), r#"{"limit":5} Some(Destructive)"#),
        (r#"{"limit":5.0}"#, shown(5, false, "[]", rest), r#"{"limit":5} Some(Destructive)"#),
        (r#"{"dry_run":"true"}"#, shown(0, true, "[]", rest), r#"{"dry_run":true} Some(ReadOnly)"#),
        (r#"{"dry_run":null}"#, shown(0, false, "[]", rest), "{} Some(Destructive)"),
        (
            r#"{"tags":"[\"1\",2]","text":"[1]"}"#,
            shown(0, false, "[1, 2]", r#"text: Some("[1]"), note: None"#),
            r#"{"tags":[1,2],"text":"[1]"} Some(Destructive)"#,
        ),
        // The type reads null itself.
        (
            r#"{"text":null,"note":null,"limit":null}"#,
            shown(0, false, "[]", "text: None, note: Some(None)"),
            r#"{"text":null,"note":null} Some(Destructive)"#,
        ),
        (r#"["5",null,null]"#, shown(5, false, "[]", rest), r#"{"limit":5} Some(Destructive)"#),
        (
            r#"[1,"true"]"#,
            shown(1, true, "[]", rest),
            // The effect of a call with params by position is the worst one.
            r#"[1,true] Some(Destructive)"#,
        ),
        (r#"{"limit":"-1"}"#, "integer `-1`".into(), r#"{"limit":-1} Some(Destructive)"#),
        (r#"{"limit":"five"}"#, "five".into(), r#"{"limit":"five"} Some(Destructive)"#),
        (
            r#"{"limit":1,"limit":"1"}"#,
            "duplicate".into(),
            r#"{"limit":1,"limit":"1"} Some(Destructive)"#,
        ),
    ] {
        check("typed", params, expected, seen);
    }
}

#[test]
fn other_operations_read_params_as_sent() {
    for (method, params, reason, effect) in [
        ("strict", r#"{"limit":"5"}"#, r#"expected u32"#, "Some(Destructive)"),
        ("strict", r#"{"dry_run":"true"}"#, "expected a boolean", "Some(Destructive)"),
        ("strict", r#"{"dry_run":null}"#, "invalid type: null", "Some(Destructive)"),
        ("undeclared", r#"{"limit":"5"}"#, r#"expected u32"#, "None"),
        ("undeclared", r#"{"dry_run":null}"#, "invalid type: null", "None"),
        ("add", r#"["1",2]"#, "expected i64", "None"),
        ("add", r#"{"a":1.0,"b":2}"#, "expected i64", "None"),
    ] {
        check(method, params, reason, &format!("{params} {effect}"));
    }
}

#[test]
fn validated_operations_and_limits() {
    for (params, expected, seen) in [
        (r#"{"n":"1","any":"[1]"}"#, r#"{"n":1,"any":"[1]"}"#, r#"{"n":1,"any":"[1]"}"#),
        (r#"{"n":null,"any":null}"#, r#"{"any":null}"#, r#"{"any":null}"#),
        (r#"{"n":1e1}"#, r#"{"n":10}"#, r#"{"n":10}"#),
        (r#"{"n":"1.5"}"#, "not of type", r#"{"n":"1.5"}"#),
        (r#"{"n":"\"1\""}"#, "not of type", r#"{"n":"\"1\""}"#),
    ] {
        check("validated", params, expected, &format!("{seen} None"));
    }
    let seen = Seen::default();
    let rpc = rpc(&seen);
    let edn = r#"{:jsonrpc "2.0" :method "edn" :params {:n "1" :any :a} :id 1}"#;
    assert_eq!(call(&rpc, FORMAT, edn.to_owned())["result"], r#"{:n 1, :any "a"}"#);
    let edn = r#"{:jsonrpc "2.0" :method "edn" :params {:n 1 :any :a} :id 1}"#;
    assert_eq!(call(&rpc, FORMAT, edn.to_owned())["result"], r#"{:n 1, :any :a}"#);
}
