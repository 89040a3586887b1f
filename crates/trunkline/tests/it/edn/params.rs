//! Params of `Edn<T>`, which accepts the same as `Params<T>`, in both formats, by name and by position.

#![expect(dead_code, reason = "fields are only formatted with Debug")]

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trunkline::edn::{self, Edn, Inst, Keyword};
use trunkline::protocol::{Format, Formats};
use trunkline::{Extensions, Params, Router, Rpc, code};

#[derive(Debug, Deserialize)]
struct Point {
    x: i64,
    y: i64,
}

#[derive(Debug, Deserialize)]
struct Search {
    text: String,
    limit: Option<u8>,
    #[serde(default = "ten")]
    page: i64,
    #[serde(default)]
    tags: Vec<String>,
}

fn ten() -> i64 {
    10
}

#[derive(Debug, Deserialize)]
struct Nested {
    from: Point,
    to: Option<Point>,
}

#[derive(Debug, Deserialize)]
struct Aliased {
    #[serde(alias = "width")]
    w: i64,
    #[serde(default)]
    h: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Renamed {
    first_name: String,
    #[serde(rename = "io.x/kind")]
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Flat {
    name: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, i64>,
}

#[derive(Debug, Deserialize)]
struct Newtype(Point);

#[derive(Debug, Deserialize)]
struct Pair(i64, i64);

#[derive(Debug, Deserialize)]
struct Unit;

#[derive(Debug, Deserialize)]
struct NoFields {}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Circle { r: i64 },
    Line(i64, i64),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Tagged {
    Circle { r: i64 },
}

/// Methods that format their params, taken as `Edn<T>` and as `Params<T>`.
fn rpc<T: DeserializeOwned + Debug + 'static>() -> Rpc {
    let router = Router::new()
        .method("edn", |Edn(params): Edn<T>| format!("{params:?}"))
        .method("json", |Params(params): Params<T>| format!("{params:?}"));
    router.build().unwrap()
}

/// The reply in JSON to a call in this format. `""` means no params.
#[track_caller]
fn call(rpc: &Rpc, format: Format, method: &str, params: &str) -> Value {
    let body = match (format, params) {
        (Format::Json, "") => format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#),
        (Format::Json, params) => {
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":1}}"#)
        }
        (_, "") => format!(r#"{{:jsonrpc "2.0" :method "{method}" :id 1}}"#),
        (_, params) => {
            format!(r#"{{:jsonrpc "2.0" :method "{method}" :params {params} :id 1}}"#)
        }
    };
    let formats = Formats { request: format, reply: Format::Json };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let reply = runtime.block_on(rpc.handle_in(formats, body.into(), Extensions::new()));
    serde_json::from_slice(&reply.into_json().unwrap()).unwrap()
}

/// Converts EDN to JSON.
fn to_json(params: &str) -> String {
    match params {
        "" => String::new(),
        edn => edn::json::to_string(&edn.parse().unwrap()).unwrap(),
    }
}

/// Checks that both extractors read these params, written in EDN, equally in both formats.
#[track_caller]
fn check<T: DeserializeOwned + Debug + 'static>(params: &str, shown: &str) {
    let rpc = rpc::<T>();
    for method in ["edn", "json"] {
        for (format, params) in [(edn::FORMAT, params.to_owned()), (Format::Json, to_json(params))]
        {
            let reply = call(&rpc, format, method, &params);
            assert_eq!(reply["result"], shown, "{method}, in {format:?}: {params}: {reply}");
        }
    }
}

/// Checks that both extractors refuse these params, written in EDN, in both formats with this data. The reasons of
/// EDN and JSON differ.
#[track_caller]
fn refused<T: DeserializeOwned + Debug + 'static>(params: &str, reasons: [&str; 2], data: Value) {
    let rpc = rpc::<T>();
    for (method, reason) in ["edn", "json"].into_iter().zip(reasons) {
        let mut data = data.clone();
        data["reason"] = reason.into();
        let error =
            json!({ "code": code::INVALID_PARAMS, "message": "Invalid params", "data": data });
        for (format, params) in [(edn::FORMAT, params.to_owned()), (Format::Json, to_json(params))]
        {
            let reply = call(&rpc, format, method, &params);
            assert_eq!(reply["error"], error, "{method}, in {format:?}: {params}");
        }
    }
}

/// Checks how `Edn<T>` reads params that only EDN can represent.
#[track_caller]
fn check_edn<T: DeserializeOwned + Debug + 'static>(params: &str, shown: &str) {
    let reply = call(&rpc::<T>(), edn::FORMAT, "edn", params);
    assert_eq!(reply["result"], shown, "{params}: {reply}");
}

const MISSING: [&str; 2] = ["missing param"; 2];

#[test]
fn a_struct_takes_its_fields_by_name_and_by_position() {
    let shown = "Point { x: 1, y: 2 }";
    for params in ["{:x 1 :y 2}", "{:y 2 :x 1}", r#"{"x" 1 y 2}"#, "[1 2]", "(1 2)", "#{1 2}"] {
        check::<Point>(params, shown);
    }
    check_edn::<Point>("{:x 1N :y 2}", shown);
    for params in ["", "[]", "{}", "#{}", "{:y 2}"] {
        refused::<Point>(params, MISSING, json!({ "param": "x" }));
    }
    for params in ["[1]", "{:x 1}"] {
        refused::<Point>(params, MISSING, json!({ "param": "y" }));
    }
    let declared = json!({ "declared": ["x", "y"] });
    refused::<Point>("[1 2 3]", ["too many params: 3 given, at most 2 expected"; 2], declared);
    let unknown = json!({ "params": ["z", "1"], "declared": ["x", "y"] });
    refused::<Point>("{:x 1 :z 2 1 :y}", ["unknown param"; 2], unknown);
    let many: String = (0..12).map(|number| format!(":p{number} 1 ")).collect();
    let first: Vec<_> = (0..10).map(|number| format!("p{number}")).collect();
    let unknown = json!({ "params": first, "declared": ["x", "y"] });
    refused::<Point>(&format!("{{:x 1 {many}}}"), ["unknown param"; 2], unknown);
    let unknown = json!({ "params": ["n".repeat(100) + "…"], "declared": ["x", "y"] });
    let long = "n".repeat(1_000);
    refused::<Point>(&format!("{{:x 1 \"{long}\" 1}}"), ["unknown param"; 2], unknown);
}

#[test]
fn a_field_may_be_absent_when_it_is_an_option_or_has_a_default() {
    let shown = |limit, page, tags| {
        format!("Search {{ text: \"a\", limit: {limit}, page: {page}, tags: {tags} }}")
    };
    check::<Search>(r#"["a"]"#, &shown("None", 10, "[]"));
    check::<Search>(r#"["a" 5]"#, &shown("Some(5)", 10, "[]"));
    check::<Search>(r#"["a" nil 2 ["t"]]"#, &shown("None", 2, "[\"t\"]"));
    check::<Search>(r#"{:text "a" :limit nil}"#, &shown("None", 10, "[]"));
    check::<Search>(r#"{:tags #{:t} :text :a}"#, &shown("None", 10, "[\"t\"]"));
    let reasons = ["expected i64, found nil", "invalid type: null, expected i64"];
    refused::<Search>(r#"["a" 1 nil]"#, reasons, json!({ "param": "page" }));
    refused::<Search>(r#"{:text "a" :page nil}"#, reasons, json!({ "param": "page" }));
}

#[test]
fn supports_renamed_and_aliased_fields() {
    check::<Aliased>("{:w 1}", "Aliased { w: 1, h: 0 }");
    check::<Aliased>("{:width 1 :h 2}", "Aliased { w: 1, h: 2 }");
    refused::<Aliased>("{:w 1 :width 2}", ["duplicate param"; 2], json!({ "param": "w" }));
    refused::<Aliased>("{:h 1}", MISSING, json!({ "param": "w" }));
    check::<Renamed>(r#"{:first-name "a" :io.x/kind "b"}"#, &renamed("Some(\"b\")"));
    check::<Renamed>(r#"["a"]"#, &renamed("None"));
    let unknown = json!({ "params": ["first_name"], "declared": ["first-name", "io.x/kind"] });
    refused::<Renamed>(r#"{:first_name "a"}"#, ["unknown param"; 2], unknown);
    refused::<Renamed>("{}", MISSING, json!({ "param": "first-name" }));
}

fn renamed(kind: &str) -> String {
    format!("Renamed {{ first_name: \"a\", kind: {kind} }}")
}

#[test]
fn a_value_of_the_wrong_type_names_its_param() {
    let rows = [
        (
            r#"["a" 256]"#,
            "limit",
            ["the integer is out of range of u8", "invalid value: integer `256`, expected u8"],
        ),
        (
            r#"{:text "a" :page "1"}"#,
            "page",
            ["expected i64, found string \"1\"", "invalid type: string \"1\", expected i64"],
        ),
        (
            r#"{:text "a" :tags ["t" 2]}"#,
            "tags",
            [
                "in /1: expected a string, found integer `2`",
                "invalid type: integer `2`, expected a string",
            ],
        ),
    ];
    for (params, param, reasons) in rows {
        refused::<Search>(params, reasons, json!({ "param": param }));
    }
    let reasons = ["in /y: expected i64, found nil", "invalid type: null, expected i64"];
    refused::<Nested>("[[1 2] {:x 1 :y nil}]", reasons, json!({ "param": "to" }));
    refused::<Nested>("[{:x 1}]", ["missing field `y`"; 2], json!({ "param": "from" }));
    check::<Nested>("{:from {:x 1 :y 2}}", "Nested { from: Point { x: 1, y: 2 }, to: None }");
}

#[test]
fn a_map_takes_names_only() {
    check::<BTreeMap<String, i64>>("{:a 1 :b/c 2}", r#"{"a": 1, "b/c": 2}"#);
    check::<BTreeMap<String, i64>>("{}", "{}");
    check::<BTreeMap<String, i64>>("", "{}");
    let reasons = ["expected a map, found vector", "invalid type: sequence, expected a map"];
    refused::<BTreeMap<String, i64>>("[1]", reasons, json!({}));
    check::<Flat>(r#"{:name "a" :b 1}"#, r#"Flat { name: Some("a"), rest: {"b": 1} }"#);
    check::<Flat>("{}", "Flat { name: None, rest: {} }");
    check::<Flat>("", "Flat { name: None, rest: {} }");
}

#[test]
fn a_tuple_and_a_vec_take_positions_only() {
    check::<Vec<i64>>("[1 2]", "[1, 2]");
    check::<Vec<i64>>("[]", "[]");
    check::<Vec<i64>>("", "[]");
    let reasons = ["expected a sequence, found map", "invalid type: map, expected a sequence"];
    refused::<Vec<i64>>("{:a 1}", reasons, json!({}));
    let reasons =
        ["in /1: expected i64, found string \"a\"", "invalid type: string \"a\", expected i64"];
    refused::<Vec<i64>>(r#"[1 "a"]"#, reasons, json!({}));
    positions::<(i64, i64)>("(1, 2)", "a tuple of size 2");
    positions::<Pair>("Pair(1, 2)", "tuple struct Pair with 2 elements");
    positions::<[i64; 2]>("[1, 2]", "an array of length 2");
}

#[track_caller]
fn positions<T: DeserializeOwned + Debug + 'static>(shown: &str, name: &str) {
    check::<T>("[1 2]", shown);
    refused::<T>("[1]", [&*format!("invalid length 1, expected {name}"); 2], json!({}));
    refused::<T>("", [&*format!("invalid length 0, expected {name}"); 2], json!({}));
    refused::<T>("[1 2 3]", ["too many params: 3 given, at most 2 expected"; 2], json!({}));
}

#[test]
fn other_types_are_read_as_serde_declares_them() {
    check::<Newtype>("[1 2]", "Newtype(Point { x: 1, y: 2 })");
    check::<Newtype>("{:x 1 :y 2}", "Newtype(Point { x: 1, y: 2 })");
    refused::<Newtype>("[1]", MISSING, json!({ "param": "y" }));
    check::<Option<Point>>("", "None");
    check::<Option<Point>>("[1 2]", "Some(Point { x: 1, y: 2 })");
    check::<Option<Point>>("{:x 1 :y 2}", "Some(Point { x: 1, y: 2 })");
    refused::<Option<Point>>("[]", MISSING, json!({ "param": "x" }));
    check::<Shape>("{:circle {:r 1}}", "Circle { r: 1 }");
    check::<Shape>("{:line [1 2]}", "Line(1, 2)");
    check::<Tagged>(r#"{:kind "circle" :r 1}"#, "Circle { r: 1 }");
    refused::<Tagged>("", ["missing field `kind`"; 2], json!({}));
    check::<Value>("[1 {:a nil}]", r#"Array [Number(1), Object {"a": Null}]"#);
    check::<Value>("", "Object {}");
}

#[test]
fn a_method_without_params_refuses_any() {
    none::<()>("()");
    none::<Unit>("Unit");
    none::<NoFields>("NoFields");
}

#[track_caller]
fn none<T: DeserializeOwned + Debug + 'static>(shown: &str) {
    for params in ["", "[]", "{}"] {
        check::<T>(params, shown);
    }
    let many = json!({ "declared": [] });
    refused::<T>("[1 2]", ["too many params: 2 given, at most 0 expected"; 2], many);
    let unknown = json!({ "params": ["a"], "declared": [] });
    refused::<T>("{:a 1}", ["unknown param"; 2], unknown);
}

#[test]
fn names_duplicate_params_in_json() {
    let error = |method| {
        let params = r#"{"x":1,"x":1,"y":2}"#;
        call(&rpc::<Point>(), Format::Json, method, params)["error"].take()
    };
    let data = json!({ "reason": "duplicate param", "param": "x" });
    assert_eq!(error("edn")["data"], data);
    assert_eq!(error("edn"), error("json"));
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Job {
    queue: Keyword,
    run_at: Option<Inst>,
    extra: edn::Value,
    count: Option<edn::Integer>,
}

/// Checks that params are returned as a map with the names of the fields as keys.
#[track_caller]
fn check_same<T: DeserializeOwned + serde::Serialize + 'static>(params: &str, expected: &str) {
    let router = Router::new().method("m", |Edn(params): Edn<T>| Edn(params));
    let rpc = router.build().unwrap();
    let params = if params.is_empty() { String::new() } else { format!(":params {params}") };
    let body = format!(r#"{{:jsonrpc "2.0" :method "m" {params} :id 1}}"#);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let handled = rpc.handle_in(Formats::both(edn::FORMAT), body.into(), Extensions::new());
    let reply = String::from_utf8(runtime.block_on(handled).into_text().unwrap()).unwrap();
    assert_eq!(reply, format!(r#"{{:jsonrpc "2.0", :result {expected}, :id 1}}"#), "{params}");
}

#[test]
fn keeps_edn_values() {
    let job = "Job { queue: :a/b, run_at: Some(#inst \"2024-01-01T00:00:00Z\"), extra: #{:c \\d}, count: Some(7) }";
    check_edn::<Job>(r##"{:queue :a/b :run-at #inst "2024" :extra #{:c \d} :count 7N}"##, job);
    check_edn::<Job>(r##"[:a/b #inst "2024" #{:c \d} 7]"##, job);
    for params in ["{:a/b #{1}, :c (:d)}", "[:a \\b]", "(1)", "#{1}", "{}"] {
        check_same::<edn::Value>(params, params);
    }
    check_same::<edn::Value>("", "nil");
    check_same::<Option<edn::Value>>("[:a]", "[:a]");
    check_same::<edn::Map>("{:a/b #{1}}", "{:a/b #{1}}");
    check_same::<edn::Map>("", "{}");
    check_same::<edn::Vector>("[:a #{1}]", "[:a #{1}]");
    check_same::<edn::Vector>("", "[]");
}
