//! Params of all forms, and the errors for invalid ones.

#![expect(dead_code, reason = "fields are only formatted with Debug")]

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use trunkline::protocol::Handler;
use trunkline::{Extensions, Limits, Params, RawParams, Router, Rpc, VariadicParams, code, rpc};

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
struct Flat {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Renamed {
    first_name: String,
    r#type: i64,
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
struct Tail {
    first: i64,
    rest: Vec<i64>,
}

#[derive(Debug, Deserialize)]
struct List(Vec<i64>);

#[derive(Debug, Deserialize)]
struct TailOf<T> {
    first: i64,
    rest: T,
}

/// A service with one method `m`, which formats its argument.
fn showing<H, M: 'static>(handler: H) -> Rpc
where
    H: Handler<M, ()>,
{
    Router::new().method("m", handler).build().unwrap()
}

/// Formats the params as a `T`.
fn params<T: serde::de::DeserializeOwned + std::fmt::Debug + 'static>() -> Rpc {
    showing(|Params(params): Params<T>| format!("{params:?}"))
}

fn variadic<T: serde::de::DeserializeOwned + std::fmt::Debug + 'static>() -> Rpc {
    showing(|VariadicParams(params): VariadicParams<T>| format!("{params:?}"))
}

/// Calls `m` with `params`, or without params if the text is empty.
fn call(rpc: &Rpc, params: &str) -> Value {
    let params = if params.is_empty() { String::new() } else { format!(r#","params":{params}"#) };
    let body = format!(r#"{{"jsonrpc":"2.0","method":"m"{params},"id":1}}"#);
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let reply = runtime.block_on(rpc.handle(body.into(), Extensions::new()));
    serde_json::from_slice(&reply.into_json().unwrap()).unwrap()
}

/// Checks the result for `params`.
#[track_caller]
fn check(rpc: &Rpc, params: &str, shown: &str) {
    assert_eq!(call(rpc, params)["result"], shown, "{params}: {}", call(rpc, params));
}

/// Checks that `params` are refused with -32602 and this `data`.
#[track_caller]
fn refused(rpc: &Rpc, params: &str, data: &Value) {
    let error = json!({ "code": code::INVALID_PARAMS, "message": "Invalid params", "data": data });
    assert_eq!(call(rpc, params)["error"], error, "{params}");
}

#[test]
fn a_struct_takes_its_fields_by_name_and_by_position() {
    let rpc = params::<Point>();
    check(&rpc, r#"{"x":1,"y":2}"#, "Point { x: 1, y: 2 }");
    check(&rpc, r#"{"y":2,"x":1}"#, "Point { x: 1, y: 2 }");
    check(&rpc, " { \"y\" :\t2 , \"\\u0078\" :\n1 } ", "Point { x: 1, y: 2 }");
    check(&rpc, "[1,2]", "Point { x: 1, y: 2 }");
    check(&rpc, " [ 1 ,\n2 ] ", "Point { x: 1, y: 2 }");
    refused(&rpc, "", &json!({ "reason": "missing param", "param": "x" }));
    refused(&rpc, "[]", &json!({ "reason": "missing param", "param": "x" }));
    refused(&rpc, "{}", &json!({ "reason": "missing param", "param": "x" }));
    refused(&rpc, "[1]", &json!({ "reason": "missing param", "param": "y" }));
    refused(&rpc, r#"{"x":1}"#, &json!({ "reason": "missing param", "param": "y" }));
}

#[test]
fn a_field_may_be_absent_when_it_is_an_option_or_has_a_default() {
    let rpc = params::<Search>();
    let shown = |text, limit, page, tags| {
        format!("Search {{ text: {text:?}, limit: {limit}, page: {page}, tags: {tags} }}")
    };
    check(&rpc, r#"["a"]"#, &shown("a", "None", 10, "[]"));
    check(&rpc, r#"["a",5]"#, &shown("a", "Some(5)", 10, "[]"));
    check(&rpc, r#"["a",null,2,["t"]]"#, &shown("a", "None", 2, "[\"t\"]"));
    check(&rpc, r#"{"text":"a"}"#, &shown("a", "None", 10, "[]"));
    check(&rpc, r#"{"text":"a","limit":null}"#, &shown("a", "None", 10, "[]"));
    check(&rpc, r#"{"tags":["t"],"text":"a"}"#, &shown("a", "None", 10, "[\"t\"]"));
    // Only an Option can be null.
    let reason = "invalid type: null, expected i64";
    refused(&rpc, r#"["a",1,null]"#, &json!({ "reason": reason, "param": "page" }));
    refused(&rpc, r#"{"text":"a","page":null}"#, &json!({ "reason": reason, "param": "page" }));
}

#[test]
fn a_value_of_the_wrong_type_names_its_param() {
    let rpc = params::<Search>();
    let rows = [
        (r#"[1]"#, "text", "invalid type: integer `1`, expected a string"),
        (r#"{"text":["a"]}"#, "text", "invalid type: sequence, expected a string"),
        (r#"["a",256]"#, "limit", "invalid value: integer `256`, expected u8"),
        (r#"["a",-1]"#, "limit", "invalid value: integer `-1`, expected u8"),
        (r#"["a",1.0]"#, "limit", "invalid type: floating point `1.0`, expected u8"),
        (r#"["a","1"]"#, "limit", "invalid type: string \"1\", expected u8"),
        (
            r#"["a",1,9223372036854775808]"#,
            "page",
            "invalid value: integer `9223372036854775808`, expected i64",
        ),
        (r#"["a",1,1e400]"#, "page", "number out of range"),
        (r#"["a",1,1,{}]"#, "tags", "invalid type: map, expected a sequence"),
        (r#"["a",1,1,["t",2]]"#, "tags", "invalid type: integer `2`, expected a string"),
        // The position that serde_json appends is removed, and nothing else.
        (
            r#"["a",1,1,"at line 3 column 4"]"#,
            "tags",
            "invalid type: string \"at line 3 column 4\", expected a sequence",
        ),
        (
            r#"["a",1,1,"x at line y"]"#,
            "tags",
            "invalid type: string \"x at line y\", expected a sequence",
        ),
    ];
    for (params, param, reason) in rows {
        refused(&rpc, params, &json!({ "reason": reason, "param": param }));
    }
}

#[test]
fn deserialises_nested_values() {
    let rpc = params::<Nested>();
    let from = "Nested { from: Point { x: 1, y: 2 }";
    check(&rpc, r#"[{"x":1,"y":2}]"#, &format!("{from}, to: None }}"));
    check(&rpc, r#"{"to":null,"from":[1,2]}"#, &format!("{from}, to: None }}"));
    let to = "to: Some(Point { x: 3, y: 4 })";
    check(&rpc, r#"[[1,2],{"y":4,"x":3}]"#, &format!("{from}, {to} }}"));
    let data = json!({ "reason": "missing field `y`", "param": "from" });
    refused(&rpc, r#"[{"x":1}]"#, &data);
    let data = json!({ "reason": "invalid type: string \"a\", expected i64", "param": "to" });
    refused(&rpc, r#"[[1,2],["a"]]"#, &data);
}

#[test]
fn too_many_positions_are_refused() {
    let declared = json!(["x", "y"]);
    for (params, given) in [("[1,2,3]", 3), ("[1,2,null]", 3), ("[1,2,[],{},\"\"]", 5)] {
        let reason = format!("too many params: {given} given, at most 2 expected");
        let data = json!({ "reason": reason, "declared": declared });
        refused(&self::params::<Point>(), params, &data);
    }
}

#[test]
fn refuses_unknown_names_and_lists_the_first_ones() {
    let many: Vec<_> = (0..80_000).map(|number| format!(r#""p{number}":1"#)).collect();
    let many = format!("{{{}}}", many.join(","));
    let long = format!(r#"{{"{}":1}}"#, "n".repeat(100_000));
    let rows = [
        (r#"{"x":1,"y":2,"z":3}"#, json!(["z"])),
        (r#"{"z":3}"#, json!(["z"])),
        (r#"{"z":3,"x":1,"X":2,"é":[]}"#, json!(["z", "X", "é"])),
        (r#"{"\u007a\n":3}"#, json!(["z\n"])),
        (r#"{"":3}"#, json!([""])),
        (r#"{"x ":3}"#, json!(["x "])),
        (&long, json!(["n".repeat(100) + "…"])),
        (&many, json!((0..10).map(|number| format!("p{number}")).collect::<Vec<_>>())),
    ];
    for (params, unknown) in rows {
        let data = json!({ "reason": "unknown param", "params": unknown, "declared": ["x", "y"] });
        refused(&self::params::<Point>(), params, &data);
    }
}

#[test]
fn refuses_duplicate_names_also_if_escaped() {
    let data = json!({ "reason": "duplicate param", "param": "x" });
    for params in [r#"{"x":1,"x":1}"#, r#"{"x":1,"y":2,"\u0078":3}"#, r#"{"\u0078":1,"x":2}"#] {
        refused(&self::params::<Point>(), params, &data);
    }
    #[derive(Debug, Deserialize)]
    struct Maybe {
        x: Option<i64>,
    }
    refused(&params::<Maybe>(), r#"{"x":null,"x":1}"#, &data);
}

#[test]
fn supports_renamed_and_aliased_fields() {
    let rpc = params::<Renamed>();
    check(&rpc, r#"["a",1]"#, "Renamed { first_name: \"a\", type: 1 }");
    check(&rpc, r#"{"firstName":"a","type":1}"#, "Renamed { first_name: \"a\", type: 1 }");
    refused(&rpc, r#"["a"]"#, &json!({ "reason": "missing param", "param": "type" }));
    let data = json!({ "reason": "unknown param", "params": ["first_name"], "declared": ["firstName", "type"] });
    refused(&rpc, r#"{"first_name":"a"}"#, &data);
}

#[test]
fn a_flattened_struct_and_a_map_take_names_only() {
    let rpc = params::<Flat>();
    check(&rpc, r#"{"name":"a","b":1}"#, r#"Flat { name: "a", rest: {"b": Number(1)} }"#);
    check(&rpc, r#"{"name":"a"}"#, r#"Flat { name: "a", rest: {} }"#);
    check(&rpc, r#"{"b":1,"name":"a","b":2}"#, r#"Flat { name: "a", rest: {"b": Number(2)} }"#);
    refused(&rpc, r#"{"name":"a","name":"a"}"#, &json!({ "reason": "duplicate field `name`" }));
    refused(&rpc, "", &json!({ "reason": "missing field `name`" }));
    refused(&rpc, r#"["a"]"#, &json!({ "reason": "invalid type: sequence, expected struct Flat" }));

    let rpc = params::<BTreeMap<String, i64>>();
    check(&rpc, r#"{"b":2,"a":1}"#, r#"{"a": 1, "b": 2}"#);
    check(&rpc, "{}", "{}");
    check(&rpc, "", "{}");
    refused(&rpc, "[1]", &json!({ "reason": "invalid type: sequence, expected a map" }));
    refused(&rpc, r#"{"a":"b"}"#, &json!({ "reason": "invalid type: string \"b\", expected i64" }));
    check(&params::<HashMap<String, Value>>(), r#"{"a":null}"#, r#"{"a": Null}"#);
}

#[test]
fn a_tuple_and_a_vec_take_positions_only() {
    let rpc = params::<Vec<i64>>();
    check(&rpc, "[1,2,3]", "[1, 2, 3]");
    check(&rpc, "[]", "[]");
    check(&rpc, "", "[]");
    refused(&rpc, r#"{"a":1}"#, &json!({ "reason": "invalid type: map, expected a sequence" }));
    refused(&rpc, r#"[1,"a"]"#, &json!({ "reason": "invalid type: string \"a\", expected i64" }));

    for (rpc, shown, name) in [
        (params::<(i64, i64)>(), "(1, 2)", "a tuple of size 2"),
        (params::<Pair>(), "Pair(1, 2)", "tuple struct Pair with 2 elements"),
        (params::<[i64; 2]>(), "[1, 2]", "an array of length 2"),
    ] {
        check(&rpc, "[1,2]", shown);
        let reason = format!("invalid length 1, expected {name}");
        refused(&rpc, "[1]", &json!({ "reason": reason }));
        let reason = format!("invalid length 0, expected {name}");
        refused(&rpc, "", &json!({ "reason": reason }));
        let reason = "too many params: 4 given, at most 2 expected";
        refused(&rpc, "[1,2,3,4]", &json!({ "reason": reason }));
    }
}

#[test]
fn other_types_are_read_as_serde_declares_them() {
    let rpc = params::<Newtype>();
    check(&rpc, "[1,2]", "Newtype(Point { x: 1, y: 2 })");
    check(&rpc, r#"{"x":1,"y":2}"#, "Newtype(Point { x: 1, y: 2 })");
    refused(&rpc, "[1]", &json!({ "reason": "missing param", "param": "y" }));

    let rpc = params::<Option<Point>>();
    check(&rpc, "", "None");
    check(&rpc, "[1,2]", "Some(Point { x: 1, y: 2 })");
    check(&rpc, r#"{"x":1,"y":2}"#, "Some(Point { x: 1, y: 2 })");
    refused(&rpc, "[]", &json!({ "reason": "missing param", "param": "x" }));

    let rpc = params::<Shape>();
    check(&rpc, r#"{"circle":{"r":1}}"#, "Circle { r: 1 }");
    check(&rpc, r#"{"line":[1,2]}"#, "Line(1, 2)");

    let rpc = params::<Value>();
    check(&rpc, "[1]", "Array [Number(1)]");
    check(&rpc, r#"{"a":null}"#, r#"Object {"a": Null}"#);
}

#[test]
fn a_method_without_params_refuses_any() {
    let too_many =
        json!({ "reason": "too many params: 2 given, at most 0 expected", "declared": [] });
    let unknown = json!({ "reason": "unknown param", "params": ["a"], "declared": [] });
    let none = showing(|| "called");
    let unit = showing(|_: Params<()>| "called");
    let unit_struct = showing(|_: Params<Unit>| "called");
    let no_fields = showing(|_: Params<NoFields>| "called");
    for rpc in [none, unit, unit_struct, no_fields, arguments::none()] {
        for params in ["", "[]", "{}", "[ ]", " { } "] {
            check(&rpc, params, "called");
        }
        refused(&rpc, "[1,2]", &too_many);
        refused(&rpc, r#"{"a":1}"#, &unknown);
    }
}

#[test]
fn raw_params_are_the_unchanged_text() {
    let rpc = showing(|RawParams(params): RawParams| params.map(|params| params.get().to_owned()));
    check(&rpc, r#"{"a" : 1e400, "a":"\u0041"}"#, r#"{"a" : 1e400, "a":"\u0041"}"#);
    check(&rpc, "[ 1.0 ]", "[ 1.0 ]");
    assert_eq!(call(&rpc, ""), json!({ "jsonrpc": "2.0", "result": null, "id": 1 }));
}

#[test]
fn a_variadic_struct_collects_the_remaining_positions() {
    let rpc = variadic::<Tail>();
    check(&rpc, "[1,2,3]", "Tail { first: 1, rest: [2, 3] }");
    check(&rpc, "[1,2]", "Tail { first: 1, rest: [2] }");
    check(&rpc, "[1]", "Tail { first: 1, rest: [] }");
    check(&rpc, r#"{"first":1,"rest":[2,3]}"#, "Tail { first: 1, rest: [2, 3] }");
    check(&rpc, r#"{"rest":[],"first":1}"#, "Tail { first: 1, rest: [] }");
    check(&rpc, r#"{"first":1}"#, "Tail { first: 1, rest: [] }");
    refused(&rpc, "", &json!({ "reason": "missing param", "param": "first" }));
    refused(&rpc, "[]", &json!({ "reason": "missing param", "param": "first" }));
    let reason = "invalid type: string \"a\", expected i64";
    refused(&rpc, r#"[1,2,"a"]"#, &json!({ "reason": reason, "param": "rest" }));
    let reason = "invalid type: integer `2`, expected a sequence";
    refused(&rpc, r#"{"first":1,"rest":2}"#, &json!({ "reason": reason, "param": "rest" }));
    let data =
        json!({ "reason": "unknown param", "params": ["more"], "declared": ["first", "rest"] });
    refused(&rpc, r#"{"first":1,"more":2}"#, &data);
    // As a plain struct it takes two positions.
    check(&params::<Tail>(), "[1,[2,3]]", "Tail { first: 1, rest: [2, 3] }");
}

#[test]
fn missing_variadic_params_are_empty_whatever_the_default() {
    #[derive(Debug, Deserialize)]
    struct Defaulted {
        #[serde(default = "nine")]
        rest: Vec<i64>,
    }

    fn nine() -> Vec<i64> {
        vec![9]
    }

    let rpc = variadic::<Defaulted>();
    for params in ["", "[]", "{}", r#"{"rest":[]}"#] {
        check(&rpc, params, "Defaulted { rest: [] }");
    }
    check(&params::<Defaulted>(), "[]", "Defaulted { rest: [9] }");
}

#[test]
fn variadic_params_can_be_any_sequence_type() {
    check(&variadic::<TailOf<List>>(), "[1,2,3]", "TailOf { first: 1, rest: List([2, 3]) }");
    check(&variadic::<TailOf<Value>>(), "[1,2]", "TailOf { first: 1, rest: Array [Number(2)] }");
    let rpc = variadic::<TailOf<Option<Vec<i64>>>>();
    check(&rpc, "[1,2,3]", "TailOf { first: 1, rest: Some([2, 3]) }");
    check(&rpc, r#"{"first":1,"rest":null}"#, "TailOf { first: 1, rest: None }");
    let rpc = variadic::<TailOf<(i64, i64)>>();
    check(&rpc, "[1,2,3]", "TailOf { first: 1, rest: (2, 3) }");
    let reason = "invalid length 1, expected a tuple of size 2";
    refused(&rpc, "[1,2]", &json!({ "reason": reason, "param": "rest" }));
    // Surplus values are errors.
    let reason = "1 value too many";
    refused(&rpc, "[1,2,3,4]", &json!({ "reason": reason, "param": "rest" }));
}

/// 70 fields: more than the bits of the mask of seen fields.
mod wide {
    use super::*;

    macro_rules! wide {
        ($($field:ident)*) => {
            #[derive(Debug, Deserialize)]
            struct Wide { $(#[serde(default)] $field: i64,)* }

            impl Wide {
                fn sum(&self) -> i64 {
                    0 $(+ self.$field)*
                }
            }
        };
    }

    wide!(
        f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20 f21 f22 f23
        f24 f25 f26 f27 f28 f29 f30 f31 f32 f33 f34 f35 f36 f37 f38 f39 f40 f41 f42 f43 f44 f45
        f46 f47 f48 f49 f50 f51 f52 f53 f54 f55 f56 f57 f58 f59 f60 f61 f62 f63 f64 f65 f66 f67
        f68 f69
    );

    #[test]
    fn a_struct_may_have_more_than_64_fields() {
        let rpc = showing(|Params(wide): Params<Wide>| wide.sum().to_string());
        let positions: Vec<_> = (0..70).map(|n| n.to_string()).collect();
        check(&rpc, &format!("[{}]", positions.join(",")), "2415");
        let names: Vec<_> = (0..70).rev().map(|n| format!("\"f{n}\":{n}")).collect();
        check(&rpc, &format!("{{{}}}", names.join(",")), "2415");
        check(&rpc, r#"{"f69":1,"f64":2,"f63":4,"f5":8}"#, "15");
    }

    #[test]
    fn refuses_duplicate_names_of_any_field() {
        let rpc = showing(|Params(wide): Params<Wide>| wide.sum().to_string());
        for name in ["f0", "f5", "f63", "f64", "f69"] {
            let data = json!({ "reason": "duplicate param", "param": name });
            refused(&rpc, &format!(r#"{{"{name}":1,"{name}":1}}"#), &data);
        }
    }
}

/// Methods of `#[rpc]`, whose arguments are the params.
mod arguments {
    use super::*;

    struct Service<const CASE: usize>;

    #[rpc]
    impl Service<0> {
        fn m(&self) -> &'static str {
            "called"
        }
    }

    #[rpc]
    impl Service<1> {
        fn m(
            &self,
            a: i64,
            b: Option<i64>,
            #[param(default = 7)] c: i64,
            #[param(default = Some(8))] d: Option<i64>,
        ) -> String {
            format!("{a} {b:?} {c} {d:?}")
        }
    }

    #[rpc]
    impl Service<2> {
        fn m(&self, a: i64, #[param(variadic)] rest: Vec<i64>) -> String {
            format!("{a} {rest:?}")
        }
    }

    #[rpc]
    impl Service<3> {
        fn m(&self, #[param(variadic)] rest: List) -> String {
            format!("{rest:?}")
        }
    }

    #[rpc]
    impl Service<4> {
        fn m(&self, a: i64, b: Option<String>, #[param(default = vec![])] c: Vec<bool>) -> String {
            format!("{a} {b:?} {c:?}")
        }
    }

    pub(super) fn none() -> Rpc {
        Service::<0>.into_router().build().unwrap()
    }

    pub(super) fn with_default() -> Rpc {
        Service::<4>.into_router().build().unwrap()
    }

    #[test]
    fn are_taken_by_name_and_by_position() {
        let rpc = Service::<1>.into_router().build().unwrap();
        check(&rpc, "[1,2,3,4]", "1 Some(2) 3 Some(4)");
        check(&rpc, r#"{"d":3,"b":4,"a":5}"#, "5 Some(4) 7 Some(3)");
        check(&rpc, "[1]", "1 None 7 Some(8)");
        check(&rpc, r#"{"a":1}"#, "1 None 7 Some(8)");
        check(&rpc, "[1,null,2,null]", "1 None 2 None");
        for params in ["", "[]", "{}", r#"{"b":1}"#] {
            refused(&rpc, params, &json!({ "reason": "missing param", "param": "a" }));
        }
        let reason = "invalid type: null, expected i64";
        refused(&rpc, r#"{"a":null}"#, &json!({ "reason": reason, "param": "a" }));
        // The published schema of the param does not allow null.
        check(&rpc, "[1,2,null]", "1 Some(2) 7 Some(8)");
        let declared = json!(["a", "b", "c", "d"]);
        let reason = "too many params: 5 given, at most 4 expected";
        refused(&rpc, "[1,2,3,4,5]", &json!({ "reason": reason, "declared": declared }));
        let data = json!({ "reason": "unknown param", "params": ["e"], "declared": declared });
        refused(&rpc, r#"{"a":1,"e":1}"#, &data);
    }

    #[test]
    fn may_collect_the_remaining_params() {
        let rpc = Service::<2>.into_router().build().unwrap();
        check(&rpc, "[1,2,3]", "1 [2, 3]");
        check(&rpc, "[1]", "1 []");
        check(&rpc, r#"{"a":1,"rest":[2]}"#, "1 [2]");
        check(&rpc, r#"{"a":1}"#, "1 []");
        refused(&rpc, "[]", &json!({ "reason": "missing param", "param": "a" }));
        let reason = "invalid type: sequence, expected i64";
        refused(&rpc, "[1,[2]]", &json!({ "reason": reason, "param": "rest" }));
        let lists = Service::<3>.into_router().build().unwrap();
        check(&lists, "[1,2]", "List([1, 2])");
        check(&lists, "", "List([])");
    }
}

#[test]
fn values_nest_to_128_whatever_the_body_limit() {
    let limits = Limits { depth: 1_024, ..Limits::default() };
    let nested = |depth| format!("[{}{}]", "[".repeat(depth), "]".repeat(depth));
    #[derive(Deserialize)]
    struct Deep {
        a: Value,
    }
    let rpc = Router::new().method("m", |_: Params<Deep>| "read").limits(limits).build().unwrap();
    check(&rpc, &nested(127), "read");
    let data = json!({ "reason": "recursion limit exceeded", "param": "a" });
    refused(&rpc, &nested(128), &data);
}

/// Comparison with `serde_json`, which deserialises the same struct from an object.
mod oracle {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        a: i64,
        b: Option<String>,
        #[serde(default)]
        c: Vec<bool>,
    }

    fn value() -> impl Strategy<Value = &'static str> {
        select(
            &[
                "1",
                "-7",
                "1.0",
                "null",
                "\"x\"",
                "\"\\u0041\"",
                "[]",
                "[true]",
                "[1]",
                "{}",
                "1e400",
            ][..],
        )
    }

    fn name() -> impl Strategy<Value = &'static str> {
        select(&["a", "a", "a", "b", "b", "c", "c", "\\u0061", "\\u0062", "d", "A", ""][..])
    }

    proptest! {
        #[test]
        fn names_are_read_as_serde_json_reads_them(members in vec((name(), value()), 0..5)) {
            let members: Vec<_> =
                members.iter().map(|(name, value)| format!("\"{name}\" : {value}")).collect();
            let params = format!("{{{}}}", members.join(", "));
            let theirs = serde_json::from_str::<Strict>(&params).map(|strict| format!("{strict:?}"));
            let reply = call(&self::params::<Strict>(), &params);
            prop_assert_eq!(reply["result"].as_str(), theirs.as_deref().ok(), "{} {:?}", reply, theirs);
        }

        #[test]
        fn positions_are_read_as_the_names_in_their_order(values in vec(value(), 0..4)) {
            let names: Vec<_> =
                ["a", "b", "c"].iter().zip(&values).map(|(name, value)| format!("\"{name}\":{value}")).collect();
            for rpc in [params::<Strict>(), arguments::with_default()] {
                let positions = call(&rpc, &format!("[{}]", values.join(",")));
                prop_assert_eq!(positions, call(&rpc, &format!("{{{}}}", names.join(","))));
            }
        }
    }
}

#[test]
fn compares_declared_names_with_unescaped_names() {
    #[derive(Debug, Deserialize)]
    struct Escaped {
        #[serde(rename = "a\\b")]
        a: i64,
        c: i64,
    }
    let rpc = params::<Escaped>();
    check(&rpc, r#"{"a\\b":1,"c":2}"#, "Escaped { a: 1, c: 2 }");
    let unknown =
        json!({ "reason": "unknown param", "params": ["a\u{8}"], "declared": ["a\\b", "c"] });
    refused(&rpc, r#"{"a\b":1,"c":2}"#, &unknown);
}
