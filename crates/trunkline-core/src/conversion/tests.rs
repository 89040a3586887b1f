use serde_json::{Value, json};

use super::{Conversions, ParamTypes};
use crate::schema::Schema;

const DEPTH: usize = 8;

fn schema() -> Value {
    json!({
        "type": "object",
        "$defs": {
            "Point": { "type": "object", "properties": { "x": { "type": "integer" }, "next": { "$ref": "#/$defs/Point" } } },
            "Loop": { "$ref": "#/$defs/Loop" },
        },
        "properties": {
            "flag": { "type": "boolean" },
            "count": { "type": "integer" },
            "ratio": { "type": "number" },
            "list": { "type": "array", "items": { "type": "integer" } },
            "names": { "type": "array", "items": { "type": "string" } },
            "lists": { "type": "array", "items": { "type": "array" } },
            "tuple": { "type": "array", "prefixItems": [{ "type": "integer" }], "items": { "type": "integer" } },
            "data": { "type": "object" },
            "map": { "type": "object", "additionalProperties": { "type": "integer" } },
            "nested": {
                "type": "object",
                "properties": { "count": { "type": "integer" }, "need": { "type": "integer" } },
                "required": ["need"],
            },
            "records": { "type": ["object", "array"], "items": { "type": "object" } },
            "point": { "$ref": "#/$defs/Point" },
            "points": { "anyOf": [{ "type": "array", "items": { "$ref": "#/$defs/Point" } }, { "type": "null" }] },
            "loop": { "$ref": "#/$defs/Loop" },
            "text": { "type": "string" },
            "texts": { "type": ["array", "string"], "items": { "type": "integer" } },
            "either": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "all": { "allOf": [{ "type": ["integer", "string"] }, { "minimum": 0, "type": "integer" }] },
            "one": { "enum": [1, 2, 3] },
            "constant": { "const": true },
            "word": { "enum": ["1", "2"] },
            "nullable": { "type": ["integer", "null"] },
            "any": {},
            "open": true,
            "never": false,
            "need": { "type": "integer" },
        },
        "required": ["need"],
    })
}

fn types_of(schema: Value) -> ParamTypes {
    named(Some(&schema.into()), &["count", "flag", "nullable", "text", "list"], false)
}

fn named(schema: Option<&Schema>, names: &[&'static str], is_variadic: bool) -> ParamTypes {
    ParamTypes::of(Conversions::All, schema, names, is_variadic, DEPTH).unwrap()
}

/// Checks the conversion of params, and that converting them again changes nothing. An empty `expected` is for unchanged
/// params.
#[track_caller]
fn check_with(types: &ParamTypes, params: &str, expected: &str) {
    let found = types.convert(params.as_bytes()).map(|text| String::from_utf8(text).unwrap());
    assert_eq!(found.as_deref().unwrap_or_default(), expected, "{params}");
    let found = found.unwrap_or_else(|| params.to_owned());
    assert_eq!(types.convert(found.as_bytes()), None, "{params} twice");
}

#[track_caller]
fn check(params: &str, expected: &str) {
    check_with(&types_of(schema()), params, expected);
}

/// Checks a string that is not converted.
#[track_caller]
fn check_stays(member: &str, texts: &[&str]) {
    for text in texts {
        check(&json!({ member: text }).to_string(), "");
    }
}

#[test]
fn texts_become_values_of_the_only_type() {
    for (params, expected) in [
        (r#"{"flag":"true"}"#, r#"{"flag":true}"#),
        (r#"{"flag":" false\n"}"#, r#"{"flag":false}"#),
        (r#"{"count":"5"}"#, r#"{"count":5}"#),
        (r#"{"count":"-5"}"#, r#"{"count":-5}"#),
        (r#"{"count":" 5 "}"#, r#"{"count":5}"#),
        (r#"{"count":"5.0"}"#, r#"{"count":5}"#),
        (r#"{"count":"18446744073709551615"}"#, r#"{"count":18446744073709551615}"#),
        (r#"{"ratio":"1.50"}"#, r#"{"ratio":1.50}"#),
        (r#"{"ratio":"1e2"}"#, r#"{"ratio":1e2}"#),
        (r#"{"list":"[1, 2]"}"#, r#"{"list":[1, 2]}"#),
        (r#"{"list":"[\"1\",2.0]"}"#, r#"{"list":[1,2]}"#),
        (r#"{"list":["1","2"]}"#, r#"{"list":[1,2]}"#),
        (r#"{"names":"[\"1\"]"}"#, r#"{"names":["1"]}"#),
        (r#"{"lists":"[\"[1]\"]"}"#, r#"{"lists":[[1]]}"#),
        (r#"{"data":"{\"a\":\"1\",\"b\":null}"}"#, r#"{"data":{"a":"1","b":null}}"#),
        (r#"{"nested":"{\"count\":\"1\",\"need\":\"2\"}"}"#, r#"{"nested":{"count":1,"need":2}}"#),
        (r#"{"records":"[{\"a\":1}]"}"#, r#"{"records":[{"a":1}]}"#),
        (r#"{"records":["{\"a\":\"1\"}"]}"#, r#"{"records":[{"a":"1"}]}"#),
        (
            r#"{"point":"{\"x\":\"1\",\"next\":\"{\\\"x\\\":\\\"2\\\"}\"}"}"#,
            r#"{"point":{"x":1,"next":{"x":2}}}"#,
        ),
        (r#"{"points":"[{\"x\":\"1\"}]"}"#, r#"{"points":[{"x":1}]}"#),
        (r#"{"all":"1"}"#, r#"{"all":1}"#),
        (r#"{"one":"2"}"#, r#"{"one":2}"#),
        (r#"{"constant":"true"}"#, r#"{"constant":true}"#),
        (r#"{"nullable":"1"}"#, r#"{"nullable":1}"#),
        (r#"{"fl\u0061g":"tru\u0065"}"#, r#"{"fl\u0061g":true}"#),
        (r#" {"flag" : "true" , "text" : "true"} "#.trim(), r#"{"flag" : true , "text" : "true"}"#),
    ] {
        check(params, expected);
    }
}

#[test]
fn other_texts_stay() {
    check_stays("flag", &["", "TRUE", "True", "yes", "1", "null", "\"true\"", "true false", "[]"]);
    check_stays("count", &["", "five", "0x10", "1.5", "1e400", "05", "+5", "5,", "null", "true"]);
    check_stays("count", &["18446744073709551616", "-9223372036854775809", "\"5\"", "NaN"]);
    check_stays("ratio", &["1e400", "1e-400", "1.", ".5", "Infinity", "0.12345678901234567890"]);
    check_stays("ratio", &["123456789012345678901234567890"]);
    check_stays("list", &["{}", "1", "[1", "[1]]", "[1,]", "\"[1]\"", "['a']", "null", "a"]);
    check_stays(
        "data",
        &["[]", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "{a:1}", "{\"a\":1}}"],
    );
    check_stays("data", &["{\"a\":[{\"b\":1,\"b\":2}]}", "{\"a\":1e400}"]);
    check_stays("text", &["1", "true", "[1]", "{}", "null"]);
    check_stays("texts", &["[1]", "[\"1\"]"]);
    check_stays("either", &["1"]);
    check_stays("word", &["1", "[1]"]);
    for member in ["any", "open", "never", "loop", "unknown"] {
        check_stays(member, &["1", "[1]", "true"]);
    }
    check(r#"{"tuple":["1","2"],"map":{"a":"1","b":null},"data":{"a":"1"}}"#, "");
    check(r#"{"texts":["1"]}"#, r#"{"texts":[1]}"#);
}

#[test]
fn the_depth_of_texts_is_that_of_params() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let types = types_of(schema());
    // The message and its params are two levels.
    for (depth, is_converted) in [(DEPTH - 2, true), (DEPTH - 1, false)] {
        let params = json!({ "lists": nested(depth) }).to_string();
        assert_eq!(types.convert(params.as_bytes()).is_some(), is_converted, "{depth}");
    }
    let long = format!("[{}1]", "1,".repeat(50_000));
    let params = json!({ "list": long }).to_string();
    assert_eq!(
        types.convert(params.as_bytes()).unwrap(),
        format!("{{\"list\":{long}}}").into_bytes()
    );
}

#[test]
fn unset_members_are_removed() {
    for (params, expected) in [
        (r#"{"flag":null}"#, "{}"),
        (r#"{ "flag" : null }"#, "{  }"),
        (r#"{"flag":null,"count":null}"#, "{}"),
        (r#"{"flag":null,"text":"a"}"#, r#"{"text":"a"}"#),
        (r#"{"flag":null,"count":null,"text":"a"}"#, r#"{"text":"a"}"#),
        (r#"{"text":"a","flag":null}"#, r#"{"text":"a"}"#),
        (r#"{"text":"a","flag":null,"count":null,"any":1}"#, r#"{"text":"a","any":1}"#),
        (r#"{"text":"a", "flag":null, "any":1, "list":null}"#, r#"{"text":"a", "any":1}"#),
        (r#"{"fl\u0061g":null,"any":null}"#, r#"{"any":null}"#),
        (r#"{"text":null}"#, "{}"),
        (r#"{"nested":{"count":null,"need":null}}"#, r#"{"nested":{"need":null}}"#),
        (r#"{"nested":"{\"count\":null}"}"#, r#"{"nested":{}}"#),
        // A duplicate member is for validation to find.
        (r#"{"flag":null,"flag":true}"#, ""),
        (r#"{"flag":"true","fl\u0061g":null,"count":"1"}"#, ""),
        (r#"{"need":null}"#, ""),
        (
            r#"{"nullable":null,"points":null,"any":null,"open":null,"never":null,"unknown":null}"#,
            "",
        ),
        (r#"{"data":{"flag":null},"list":[null],"map":{"a":null}}"#, ""),
        ("{}", ""),
    ] {
        check(params, expected);
    }
}

#[test]
fn integers_have_no_fraction() {
    for (params, expected) in [
        (r#"{"count":1.0}"#, r#"{"count":1}"#),
        (r#"{"count":1e0}"#, r#"{"count":1}"#),
        (r#"{"count":-12.50E+1}"#, r#"{"count":-125}"#),
        (r#"{"count":1200e-2}"#, r#"{"count":12}"#),
        (r#"{"count":-0}"#, r#"{"count":0}"#),
        (r#"{"count":0.0e99}"#, r#"{"count":0}"#),
        (r#"{"count":9007199254740993.0}"#, r#"{"count":9007199254740993}"#),
        (r#"{"list":[1.0,2]}"#, r#"{"list":[1,2]}"#),
        (r#"{"count":1.5}"#, ""),
        (r#"{"count":1.0000000000000000000001}"#, ""),
        (r#"{"count":1e-1}"#, ""),
        (r#"{"count":1e20}"#, ""),
        (r#"{"count":1e999999999999999999999}"#, ""),
        (r#"{"count":12345678901234567890123}"#, ""),
        (r#"{"ratio":1.0,"any":1.0,"data":{"count":1.0}}"#, ""),
    ] {
        check(params, expected);
    }
}

#[test]
fn params_by_position_and_as_text() {
    for (params, expected) in [
        (r#"["5","true"]"#, r#"[5,true]"#),
        (r#"[null]"#, "{}"),
        (r#"[1,null,null,"a"]"#, r#"{"count":1,"nullable":null,"text":"a"}"#),
        (r#"["1",true,2,null,"[1]"]"#, r#"{"count":1,"flag":true,"nullable":2,"list":[1]}"#),
        // Too many positions are for the handler to refuse.
        (r#"[1,null,2,"a",[1],6]"#, ""),
        ("[]", ""),
        (r#""{\"count\":\"5\",\"flag\":null}""#, r#"{"count":5}"#),
        (r#""{}""#, "{}"),
        (r#""[1]""#, ""),
        (r#""\"{}\"""#, ""),
        (r#""null""#, ""),
        (r#""{\"count\":1,\"count\":1}""#, ""),
        (r#""a""#, ""),
    ] {
        check(params, expected);
    }
    let schema: Schema = schema().into();
    let variadic = named(Some(&schema), &["count", "flag", "list"], true);
    check_with(&variadic, r#"["1",null,"3"]"#, r#"[1,null,"3"]"#);
    check_with(&variadic, "[1,null]", "");
    let unnamed = named(Some(&schema), &[], false);
    check_with(&unnamed, r#"["1",null]"#, "");
    for without in [named(None, &["a"], false), types_of(json!(true))] {
        check_with(&without, r#"{"a":"1","b":null}"#, "");
        check_with(&without, r#"["1",null]"#, "");
        check_with(&without, r#""{\"a\":\"1\"}""#, r#"{"a":"1"}"#);
    }
}

#[test]
fn strings_may_be_excluded() {
    let schema: Schema = schema().into();
    let of = |conversions| ParamTypes::of(conversions, Some(&schema), &["count"], false, DEPTH);
    let types = of(Conversions::ExceptStrings).unwrap();
    check_with(
        &types,
        r#"{"count":"5","flag":null,"list":["1",2.0]}"#,
        r#"{"count":"5","list":["1",2]}"#,
    );
    check_with(&types, "[null]", "{}");
    check_with(&types, r#"["5"]"#, "");
    check_with(&types, r#""{}""#, "");
    assert!(of(Conversions::None).is_none());
}

#[test]
fn null_of_the_validated_schema_stays() {
    let schema: Schema = json!({
        "properties": { "a": { "type": ["integer", "null"] }, "b": { "type": "integer" } },
    })
    .into();
    let published = schema.without_null_options();
    let types = named(Some(&published), &[], false);
    check_with(&types, r#"{"a":null,"b":null}"#, r#"{"a":null}"#);
    let checked = named(Some(&published.checked_by_name()), &[], false);
    check_with(&checked, r#"{"a":null,"b":null}"#, "{}");
}

#[test]
fn large_schemas_have_limits() {
    let wide: serde_json::Map<String, Value> =
        (0..130).map(|index| (format!("m{index:03}"), json!({ "type": "integer" }))).collect();
    let types = types_of(json!({ "properties": wide }));
    check_with(&types, r#"{"m127":"1","m128":"1"}"#, r#"{"m127":1,"m128":"1"}"#);
    let mut deep = json!({ "type": "integer" });
    for _ in 0..200 {
        deep = json!({ "type": "object", "properties": { "a": deep } });
    }
    let types = types_of(deep);
    check_with(&types, r#"{"a":"{}"}"#, r#"{"a":{}}"#);
    // Each schema refers to the next one many times.
    let mut definitions = serde_json::Map::new();
    for index in 0..100 {
        let next = vec![json!({ "$ref": format!("#/$defs/d{}", index + 1) }); 100];
        definitions.insert(format!("d{index}"), json!({ "anyOf": next }));
    }
    let types =
        types_of(json!({ "$defs": definitions, "properties": { "a": { "$ref": "#/$defs/d0" } } }));
    check_with(&types, r#"{"a":"1"}"#, "");
}
