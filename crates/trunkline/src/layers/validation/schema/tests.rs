//! The keywords: rows of a schema, a value, and the faults.

use serde_json::{Value, json};

use super::{Program, Run, compile};

fn program(schema: &Value) -> Program {
    compile(schema).unwrap_or_else(|reason| panic!("{reason} in {schema}"))
}

/// Checks a value by both evaluations, with and without a list of faults. Without faults, it is valid.
#[track_caller]
fn check(schema: Value, value: Value, expected: &[&str]) {
    let program = program(&schema);
    let is_valid = Run::new(&program).is_valid(&value).unwrap();
    assert_eq!(is_valid, expected.is_empty(), "{value} of {schema}");
    let faults = Run::new(&program).faults(&value).unwrap();
    let faults: Vec<String> = faults.as_slice().iter().map(ToString::to_string).collect();
    assert_eq!(faults, expected, "{value} of {schema}");
}

/// Checks that a schema accepts exactly the first values.
#[track_caller]
fn check_all(schema: Value, valid: Value, invalid: Value) {
    let program = program(&schema);
    for (values, expected) in [(valid, true), (invalid, false)] {
        for value in values.as_array().unwrap() {
            let is_valid = Run::new(&program).is_valid(value);
            assert_eq!(is_valid, Ok(expected), "{value} of {schema}");
            let faults = Run::new(&program).faults(value).unwrap();
            assert_eq!(faults.is_empty(), expected, "{value} of {schema}: {faults:?}");
        }
    }
}

/// Checks that a schema is refused for a reason.
#[track_caller]
fn check_invalid(schema: Value, expected: &str) {
    let reason = compile(&schema).map(drop).unwrap_err();
    assert_eq!(reason, expected, "{schema}");
}

#[test]
fn types() {
    check(json!({ "type": "integer" }), json!(1), &[]);
    check(json!({ "type": "integer" }), json!(1.0), &[]);
    check(json!({ "type": "integer" }), json!(1e300), &[]);
    check(json!({ "type": "integer" }), json!(1.5), &["this value is not of type \"integer\""]);
    check(json!({ "type": "number" }), json!(1), &[]);
    check(json!({ "type": "null" }), json!(0), &["this value is not of type \"null\""]);
    check(json!({ "type": "boolean" }), json!(0), &["this value is not of type \"boolean\""]);
    check(
        json!({ "type": ["string", "object"] }),
        json!([]),
        &["this value is not one of: string, object"],
    );
    check(json!(true), json!(1), &[]);
    check(json!({}), json!(1), &[]);
    check(json!(false), json!(1), &["False schema does not allow this value"]);
}

#[test]
fn equality() {
    check(json!({ "const": 1 }), json!(1.0), &[]);
    check(json!({ "const": { "a": [1], "b": null } }), json!({ "b": null, "a": [1.0] }), &[]);
    check(json!({ "const": "a" }), json!("b"), &["\"a\" was expected"]);
    check(
        json!({ "const": 9_007_199_254_740_993_u64 }),
        json!(9_007_199_254_740_992_u64),
        &["9007199254740993 was expected"],
    );
    check_all(
        json!({ "enum": [1, "a", null, [1, 2], { "a": false }, -0.0] }),
        json!([1, 1.0, "a", null, [1, 2.0], { "a": false }, 0]),
        json!([2, "b", false, [2, 1], [1], { "a": 0 }, {}, true]),
    );
    check(json!({ "enum": [] }), json!(1), &["this value is not one of "]);
    check(json!({ "uniqueItems": true }), json!([1, "1", [1], { "a": 1 }, true, 2]), &[]);
    check(
        json!({ "uniqueItems": true }),
        json!([[1, 2], 3, [1.0, 2]]),
        &["this value has non-unique elements"],
    );
    check(json!({ "uniqueItems": false }), json!([1, 1]), &[]);
}

#[test]
fn numbers() {
    check(json!({ "minimum": 1 }), json!(0.5), &["this value is less than the minimum of 1"]);
    check(json!({ "maximum": 1.5 }), json!(2), &["this value is greater than the maximum of 1.5"]);
    check(
        json!({ "exclusiveMinimum": 1 }),
        json!(1.0),
        &["this value is less than or equal to the minimum of 1"],
    );
    check(
        json!({ "exclusiveMaximum": 1 }),
        json!(1),
        &["this value is greater than or equal to the maximum of 1"],
    );
    check(json!({ "multipleOf": 3 }), json!(10), &["this value is not a multiple of 3"]);
    check(json!({ "minimum": 1 }), json!("a"), &[]);
    // Floats of these sizes have no integers in between.
    check_all(
        json!({ "maximum": 9_007_199_254_740_992_u64 }),
        json!([9_007_199_254_740_992_u64, 9_007_199_254_740_992.0, -1e300]),
        json!([9_007_199_254_740_993_u64, u64::MAX, 1e300]),
    );
    check_all(
        json!({ "minimum": i64::MIN }),
        json!([i64::MIN, -9_223_372_036_854_775_808.0, 0]),
        json!([-9_223_372_036_854_777_856.0]),
    );
    check_all(json!({ "exclusiveMaximum": -1.5 }), json!([-2, -1.6]), json!([-1, -1.5, 0, 1]));
    check_all(
        json!({ "multipleOf": 0.01 }),
        json!([0, 0.0, 19.99, -0.07, 3, 1e300, u64::MAX]),
        json!([0.001, 1e-300]),
    );
    check_all(json!({ "multipleOf": 1e300 }), json!([0, 3e300]), json!([1, 1e299, u64::MAX]));
    check_all(json!({ "multipleOf": u64::MAX }), json!([u64::MAX, 0]), json!([1, u64::MAX - 1]));
    check_all(json!({ "multipleOf": 0.123_456_789 }), json!([0]), json!([1e308]));
}

#[test]
fn sizes() {
    check(json!({ "minLength": 2 }), json!("é"), &["this value is shorter than 2 characters"]);
    check(json!({ "maxLength": 1 }), json!("ab"), &["this value is longer than 1 character"]);
    check(json!({ "maxLength": 2.0 }), json!("😀é"), &[]);
    check(json!({ "minItems": 1 }), json!([]), &["this value has less than 1 item"]);
    check(json!({ "maxItems": 0 }), json!([1]), &["this value has more than 0 items"]);
    check(json!({ "minProperties": 1 }), json!({}), &["this value has less than 1 property"]);
    check(
        json!({ "maxProperties": 1 }),
        json!({ "a": 1, "b": 2 }),
        &["this value has more than 1 property"],
    );
    check(json!({ "maxItems": 1e30 }), json!([1]), &[]);
    check_all(json!({ "minLength": 1, "minItems": 1 }), json!([1, null, {}]), json!(["", []]));
}

#[test]
fn patterns() {
    check(json!({ "pattern": "^a+$" }), json!("ab"), &["this value does not match \"^a+$\""]);
    check(json!({ "pattern": "^a+$" }), json!(1), &[]);
    let matches = |pattern: &str, texts: Value, others: Value| {
        check_all(json!({ "pattern": pattern }), texts, others);
    };
    matches(r"^\d\w\s$", json!(["1a ", "1_\u{feff}"]), json!(["١a ", "1é ", "1a"]));
    matches(r"^\D\W\S$", json!(["١éa", "a-a"]), json!(["1-a", "aaa"]));
    matches(r"^[\d\-x][^\w]$", json!(["1é", "-é", "x-"]), json!(["aé", "11"]));
    matches(r"^[\D]$", json!(["a"]), json!(["1"]));
    matches(r"^\p{L}\P{Lu}\p{Script=Greek}$", json!(["éaα"]), json!(["1aα", "éAα", "éaa"]));
    matches(r"^[\p{Ll}_]+$", json!(["é_"]), json!(["É"]));
    matches(r"^\cJ\/\x41\u0042\u{1F600}\uD83D\uDE00\0\v$", json!(["\n/AB😀😀\0\u{b}"]), json!([]));
    matches(r"^[--/&&~~a[]$", json!(["&", "~", "-", ".", "/", "a", "["]), json!(["b", "]", "^"]));
    matches("^[^]$", json!(["a", "\n"]), json!([""]));
    matches("[]", json!([]), json!(["", "a"]));
    matches(r"^[\b]\<\>$", json!(["\u{8}<>"]), json!([]));
    matches("^a{2}{$", json!(["aa{"]), json!(["a{2}{"]));
    matches("^a{,2}]}$", json!(["a{,2}]}"]), json!(["a"]));
    matches("^(?!b)(?=.*c)[a-z]+(?<!d)$", json!(["ac", "c"]), json!(["bc", "ab", "acd"]));
    matches(r"^(a|b)\1(?<n>x)\k<n>$", json!(["aaxx"]), json!(["abxx"]));
    matches("(?<=a|bc)d", json!(["ad", "bcd"]), json!(["cd"]));
    matches("^(?:(?i)A)$", json!(["a"]), json!(["b"]));
    let invalid = |pattern: &str, reason: &str| {
        let reason = format!("/pattern: invalid pattern `{pattern}`: {reason}");
        check_invalid(json!({ "pattern": pattern }), &reason);
    };
    invalid(r"\a", r"unknown escape `\a`");
    invalid(r"a\", r"`\` at the end");
    invalid(r"\c1", r"`\c` without a letter");
    invalid(r"\x4", r"invalid `\x`");
    invalid(r"\uD83D", r"invalid `\u`");
    invalid(r"\pL", r"`\p` without the name of a property");
    invalid("[a", "unclosed character class");
    invalid("[z-a]", "range of characters in reverse order");
    invalid("(?>a)", "unknown kind of group");
    invalid("a{2,1}", "numbers of a quantifier in reverse order");
    invalid("(", "Opening parenthesis without closing parenthesis");
    invalid("*", "Target of repeat operator is invalid");
    invalid(r"\k<n>", "Invalid back reference");
    invalid(r"\p{None}", "Unicode property not found");
    invalid("a{99999}", "heap usage during NFA compilation exceeded limit of 1048576");
}

#[test]
fn members() {
    let schema = json!({
        "properties": { "a": { "type": "integer" }, "b": false },
        "patternProperties": { "^x": { "type": "string" } },
        "additionalProperties": false,
    });
    check(schema.clone(), json!({ "a": 1, "x1": "s" }), &[]);
    check(
        schema.clone(),
        json!({ "a": "s", "b": 1, "x1": 1 }),
        &[
            "/a: this value is not of type \"integer\"",
            "/b: False schema does not allow this value",
            "/x1: this value is not of type \"string\"",
        ],
    );
    check(
        schema.clone(),
        json!({ "c": 1 }),
        &["Additional properties are not allowed ('c' was unexpected)"],
    );
    check(
        schema,
        json!({ "c": 1, "d": 2 }),
        &["Additional properties are not allowed ('c', 'd' were unexpected)"],
    );
    check(
        json!({ "properties": { "a/b~": {} }, "additionalProperties": { "type": "null" } }),
        json!({ "a/b~": 1, "c/d~": 2 }),
        &["/c~1d~0: this value is not of type \"null\""],
    );
    check(json!({ "required": ["a", "b"] }), json!({ "b": 1 }), &["\"a\" is a required property"]);
    check(
        json!({ "required": ["a", "b"] }),
        json!({}),
        &["\"a\" is a required property", "\"b\" is a required property"],
    );
    check(json!({ "required": ["a"] }), json!([]), &[]);
    check(
        json!({ "propertyNames": { "maxLength": 1 } }),
        json!({ "a": 1, "bc": 2 }),
        &["\"bc\" is longer than 1 character"],
    );
    let dependent = json!({
        "dependentRequired": { "a": ["b"] },
        "dependentSchemas": { "c": { "maxProperties": 1 } },
    });
    check(dependent.clone(), json!({ "a": 1 }), &["\"b\" is a required property"]);
    check(dependent.clone(), json!({ "a": 1, "b": 2 }), &[]);
    check(dependent, json!({ "c": 1, "d": 2 }), &["this value has more than 1 property"]);
    check_all(
        json!({ "dependencies": { "a": ["b"], "c": { "maxProperties": 1 } } }),
        json!([{}, { "a": 1, "b": 2 }, { "c": 1 }, 1]),
        json!([{ "a": 1 }, { "c": 1, "d": 2 }]),
    );
}

#[test]
fn elements() {
    let schema = json!({ "prefixItems": [{ "type": "string" }, {}], "items": { "minimum": 1 } });
    check(schema.clone(), json!(["a"]), &[]);
    check(
        schema,
        json!([1, 0, 0]),
        &[
            "/0: this value is not of type \"string\"",
            "/2: this value is less than the minimum of 1",
        ],
    );
    check(
        json!({ "prefixItems": [{}], "items": false }),
        json!([1, 2]),
        &["/1: False schema does not allow this value"],
    );
    check(
        json!({ "contains": { "minimum": 5 } }),
        json!([4]),
        &["this value has less than 1 matching item"],
    );
    let contains = json!({ "contains": { "type": "null" }, "minContains": 0, "maxContains": 1 });
    check(contains.clone(), json!([]), &[]);
    check(contains, json!([null, 1, null]), &["this value has more than 1 matching item"]);
    check(json!({ "minContains": 3 }), json!([]), &[]);
}

#[test]
fn combinations() {
    check(
        json!({ "allOf": [{ "minimum": 1 }, { "multipleOf": 2 }] }),
        json!(-1),
        &["this value is less than the minimum of 1", "this value is not a multiple of 2"],
    );
    check(
        json!({ "anyOf": [{ "minimum": 1 }, { "multipleOf": 2 }] }),
        json!(-1),
        &["this value is not valid under any of the schemas listed in the 'anyOf' keyword"],
    );
    let one = json!({ "oneOf": [{ "minimum": 1 }, { "multipleOf": 2 }] });
    check_all(one.clone(), json!([1, -2]), json!([]));
    check(
        one.clone(),
        json!(2),
        &["this value is valid under more than one of the schemas listed in the 'oneOf' keyword"],
    );
    check(
        one,
        json!(-1),
        &["this value is not valid under any of the schemas listed in the 'oneOf' keyword"],
    );
    check(
        json!({ "not": { "type": "integer" } }),
        json!(1),
        &["{\"type\":\"integer\"} is not allowed for this value"],
    );
    let condition = json!({
        "if": { "properties": { "a": { "const": 1 } } },
        "then": { "required": ["b"] },
        "else": { "required": ["c"] },
    });
    check(condition.clone(), json!({ "a": 1, "b": 1 }), &[]);
    check(condition.clone(), json!({ "a": 1 }), &["\"b\" is a required property"]);
    check(condition, json!({ "a": 2 }), &["\"c\" is a required property"]);
    check(json!({ "then": false, "else": false }), json!(1), &[]);
    // An annotation only.
    check(json!({ "format": "email", "contentEncoding": "base64" }), json!("?"), &[]);
}

#[test]
fn unevaluated_parts() {
    let schema = json!({
        "properties": { "a": { "type": "integer" } },
        "anyOf": [
            { "properties": { "b": { "const": 1 } }, "required": ["b"] },
            { "properties": { "c": true }, "required": ["c"] },
        ],
        "$ref": "#/$defs/d",
        "unevaluatedProperties": false,
        "$defs": { "d": { "patternProperties": { "^d": true } } },
    });
    check(schema.clone(), json!({ "a": 1, "b": 1, "d1": 1 }), &[]);
    check(schema.clone(), json!({ "b": 1, "c": 1 }), &[]);
    check(
        schema.clone(),
        json!({ "b": 2, "c": 1 }),
        &["Unevaluated properties are not allowed ('b' was unexpected)"],
    );
    check(schema, json!({ "a": "s", "b": 1 }), &["/a: this value is not of type \"integer\""]);
    check_all(
        json!({
            "prefixItems": [true],
            "contains": { "type": "null" },
            "if": { "maxItems": 3 }, "then": { "prefixItems": [true, true] },
            "unevaluatedItems": { "type": "integer" },
        }),
        json!([[1, "s", null], ["s", null], ["s", 1, 1, null]]),
        json!([["s", "s", null, null, "s"], ["s", "s", 1, null], [1]]),
    );
    check(
        json!({ "contains": { "const": 1 }, "unevaluatedItems": false }),
        json!([1, 2, 3]),
        &["Unevaluated items are not allowed (2 items)"],
    );
    check(
        json!({ "allOf": [{ "unevaluatedProperties": true }], "unevaluatedProperties": false }),
        json!({ "a": 1 }),
        &[],
    );
    check_all(
        json!({ "not": { "not": { "properties": { "a": true } } }, "unevaluatedProperties": false }),
        json!([{}]),
        json!([{ "a": 1 }]),
    );
}

#[test]
fn references() {
    check_all(
        json!({
            "properties": {
                "pointer": { "$ref": "#/$defs/a%25~1~0" },
                "anchor": { "$ref": "#here" },
                "id": { "$ref": "other.json" },
                "inside": { "$ref": "folder/inner.json#/items" },
                "root": { "$ref": "https://a.example/schema#" },
                "twice": { "$ref": "#/$defs/b", "maximum": 5 },
            },
            "$id": "https://a.example/schema",
            "$defs": {
                "a%/~": { "type": "integer" },
                "b": { "$anchor": "here", "$ref": "#/$defs/a%25~1~0" },
                "c": { "$id": "/other.json", "type": "integer", "$defs": {
                    "d": { "$id": "folder/inner.json", "items": { "$ref": "#local" }, "$defs": {
                        "e": { "$anchor": "local", "type": "integer" },
                    } },
                } },
            },
        }),
        json!([
            { "pointer": 1, "anchor": 1, "id": 1, "inside": 1, "root": {}, "twice": 5 },
            { "root": { "root": { "pointer": 1 } } },
        ]),
        json!([
            { "pointer": "s" }, { "anchor": "s" }, { "id": "s" }, { "inside": "s" },
            { "root": { "root": { "pointer": "s" } } }, { "twice": 6 }, { "twice": "s" },
        ]),
    );
    // The extension of a recursive schema.
    let tree = |reference: Value| {
        json!({
            "$id": "https://a.example/strict", "$dynamicAnchor": "node",
            "$ref": "tree", "unevaluatedProperties": false,
            "$defs": { "tree": {
                "$id": "tree", "$dynamicAnchor": "node", "type": "object",
                "properties": { "data": true, "children": { "items": reference } },
            } },
        })
    };
    let misspelt = json!({ "children": [{ "daat": 1 }] });
    check(
        tree(json!({ "$dynamicRef": "#node" })),
        misspelt.clone(),
        &["/children/0: Unevaluated properties are not allowed ('daat' was unexpected)"],
    );
    check(tree(json!({ "$ref": "#node" })), misspelt, &[]);
}

#[test]
fn invalid_schemas() {
    check_invalid(json!(1), "1 is not a schema: an object or boolean");
    check_invalid(
        json!({ "properties": { "a": [] } }),
        "/properties/a: [] is not a schema: an object or boolean",
    );
    check_invalid(json!({ "type": "text" }), "/type: unknown type \"text\"");
    check_invalid(json!({ "type": [] }), "/type: an empty array; it needs a type");
    check_invalid(json!({ "type": ["null", "null"] }), "/type/1: duplicate type \"null\"");
    check_invalid(json!({ "enum": 1 }), "/enum: 1 is not an array");
    check_invalid(json!({ "minimum": "1" }), "/minimum: \"1\" is not a number");
    check_invalid(json!({ "multipleOf": 0 }), "/multipleOf: 0 is not greater than 0");
    check_invalid(json!({ "maxLength": -1 }), "/maxLength: -1 is not an integer of at least 0");
    check_invalid(json!({ "minItems": 1.5 }), "/minItems: 1.5 is not an integer of at least 0");
    check_invalid(json!({ "uniqueItems": 1 }), "/uniqueItems: 1 is not a boolean");
    check_invalid(json!({ "required": "a" }), "/required: \"a\" is not an array");
    check_invalid(json!({ "required": ["a", "a"] }), "/required: duplicate name `a`");
    check_invalid(json!({ "properties": [] }), "/properties: [] is not an object");
    check_invalid(json!({ "items": [{}] }), "/items: [{}] is not a schema: an object or boolean");
    check_invalid(json!({ "allOf": [] }), "/allOf: an empty array; it needs a schema");
    check_invalid(json!({ "not": 1 }), "/not: 1 is not a schema: an object or boolean");
    check_invalid(json!({ "$defs": { "a": { "type": 1 } } }), "/$defs/a/type: unknown type 1");
    check_invalid(json!({ "then": { "title": 1 } }), "/then/title: 1 is not a string");
    check_invalid(json!({ "$anchor": "1" }), "/$anchor: \"1\" is not the name of an anchor");
    check_invalid(json!({ "$id": "a#b" }), "/$id: \"a#b\" has a fragment; use `$anchor`");
    check_invalid(json!({ "deprecated": 1 }), "/deprecated: 1 is not a boolean");
    check_invalid(json!({ "examples": 1 }), "/examples: 1 is not an array");
    check_invalid(
        json!({ "dependentRequired": { "a": [1] } }),
        "/dependentRequired/a/0: 1 is not a string",
    );
    check_invalid(json!({ "a": 1, "$ref": "#/a" }), "/a: 1 is not a schema: an object or boolean");
    // What no value is validated against may refer to what does not exist.
    check(json!({ "$defs": { "a": { "$ref": "#/$defs/b" } } }), json!(1), &[]);
}
