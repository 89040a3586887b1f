//! Schemas of high cost: references that multiply, with each other or with the value.

use serde_json::{Value, json};
use trunkline::Schema;
use trunkline::layers::validation::Validator;

/// A schema of `levels` levels, each with ten times `branch` to the next, and an integer at the end.
fn levels(levels: usize, branch: impl Fn(&str) -> Value) -> Value {
    let level = |number: usize| {
        let next = format!("#/$defs/l{}", number + 1);
        let branches: Vec<_> = (0..10).map(|_| branch(&next)).collect();
        (format!("l{number}"), json!({ "allOf": branches }))
    };
    let mut all: serde_json::Map<_, _> = (0..levels).map(level).collect();
    all.insert(format!("l{levels}"), json!({ "type": "integer" }));
    json!({ "$ref": "#/$defs/l0", "$defs": all })
}

fn reference(target: &str) -> Value {
    json!({ "$ref": target })
}

/// The value nested in `levels` objects and arrays.
fn nested(levels: usize, value: Value) -> Value {
    (0..levels).fold(value, |inner, _| json!({ "x": inner, "y": [inner] }))
}

/// Checks that a schema is accepted, and the results for a valid and an invalid value. An expensive check would not
/// end.
#[track_caller]
fn check(name: &str, schema: Value, good: &Value, bad: &Value) {
    let validator = Validator::new(&Schema::from(schema)).unwrap_or_else(|e| panic!("{name}: {e}"));
    for (value, is_good) in [(good, true), (bad, false)] {
        let checked = validator.check(value, value.to_string().len());
        assert_eq!(checked.is_ok(), is_good, "{name}: {checked:?}");
    }
}

#[track_caller]
fn check_refused(name: &str, schema: Value, expected: &str) {
    let refused = Validator::new(&Schema::from(schema)).map(|_| ()).unwrap_err();
    assert!(refused.reason().contains(expected), "{name}: {refused}");
}

#[test]
fn rejects_expensive_schemas() {
    let most = "more than 1000 subschemas";
    check_refused("a bomb of references", levels(8, reference), most);
    check_refused("three levels", levels(3, reference), most);
    let in_not = |next: &str| json!({ "not": { "if": { "$ref": next } } });
    check_refused("through conditions", levels(8, in_not), most);
    let escaped = |next: &str| reference(&next.replace("$defs", "%24defs"));
    check_refused("through escaped references", levels(8, escaped), most);
    check_refused("a reference to itself", json!({ "allOf": [{ "$ref": "#" }] }), most);
    let mut back = levels(8, reference);
    back["$defs"]["l8"] = json!({ "items": { "$ref": "#/$defs/l0" } });
    check_refused("a bomb that refers to itself", back, most);
    let anchored = json!({
        "$defs": {
            "a": { "$id": "https://a.example/a", "$anchor": "here", "anyOf": vec![reference("#there"); 40] },
            "b": { "$anchor": "there", "anyOf": vec![reference("https://a.example/b"); 40] },
            "c": { "$id": "https://a.example/b", "type": "integer" },
        },
        "$ref": "#there",
    });
    check("anchors", anchored, &json!(1), &json!("x"));
    let deep = (0..200).fold(json!({}), |inner, _| json!({ "not": inner }));
    check_refused("deep", deep, "nested deeper than 128");
    let pattern = json!({ "pattern": "(a{1,500}){1,500}" });
    check_refused("a large pattern", pattern, "/pattern: invalid pattern `(a{1,500}){1,500}`");
    let patterns = |count| json!({ "anyOf": vec![json!({ "pattern": "^a{9000}$" }); count] });
    check("a pattern", patterns(1), &json!("a".repeat(9_000)), &json!("a"));
    let large = "/anyOf/0/pattern: invalid pattern `^a{9000}$`";
    check_refused("patterns that are large together", patterns(900), large);
    let part = "refer to a part of the schema";
    check_refused("a relative reference", json!({ "$ref": "other.json" }), part);
    check_refused("no such part", json!({ "$ref": "#/$defs/a" }), part);
}

/// Checks that a schema is accepted, and that the check of a value ends with an error.
#[track_caller]
fn check_exceeded(name: &str, schema: Value, value: &Value, expected: &str) {
    let validator = Validator::new(&Schema::from(schema)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let faults = validator.check(value, value.to_string().len()).unwrap_err();
    assert_eq!(faults.as_slice()[0].to_string(), expected, "{name}");
}

#[test]
fn limits_the_steps_of_a_check() {
    let many = "too many values for this schema; send fewer";
    let again = json!({ "properties": { "x": { "$dynamicRef": "#node" } } });
    let dynamic = json!({
        "$dynamicAnchor": "node",
        "allOf": vec![again; 10],
        "$defs": { "other": { "$id": "other", "$dynamicAnchor": "node" } },
    });
    let value = (0..8).fold(json!(1), |inner, _| json!({ "x": inner }));
    check_exceeded("dynamic references", dynamic, &value, many);
    let unique = json!({ "items": { "allOf": vec![json!({ "uniqueItems": true }); 900] } });
    let value: Value = vec![(0..1_000).collect::<Value>(); 10].into();
    check_exceeded("unique elements", unique, &value, many);
    // Each compares or scans a part of the schema or the value as a whole.
    let numbers: Value = (0..10_000).collect();
    let many_of = |schema: Value| json!({ "allOf": vec![schema; 900] });
    let names: Vec<_> = (0..10_000).map(|number| number.to_string()).collect();
    let object: Value = names.iter().map(|name| (name.clone(), json!(1))).collect();
    for (name, schema, value) in [
        ("constants", json!({ "const": numbers }), &numbers),
        ("elements", json!({ "contains": { "const": 0 }, "maxContains": 1 }), &numbers),
        ("names", json!({ "additionalProperties": true }), &object),
        ("length", json!({ "minLength": 1 }), &json!("é".repeat(1 << 20))),
    ] {
        check_exceeded(name, many_of(schema), value, many);
    }
    let deep = json!({ "allOf": [{ "anyOf": [{ "allOf": [{ "anyOf": [{ "oneOf": [
        { "not": { "not": { "not": { "not": { "items": { "$ref": "#" } } } } } },
    ] }] }] }] }] });
    let value = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let nested = "nested too deeply for this schema; nest the values less";
    check_exceeded("nested", deep, &value, nested);
    let pattern = json!({ "pattern": "^(?:a+(?=[ac]))+[^ac]$" });
    let text = json!("a".repeat(40) + "c");
    let complex = "a text takes too long to compare with a pattern of the schema";
    check_exceeded("a pattern that backtracks", pattern, &text, complex);
}

/// The work of these grows little with the value.
#[test]
fn checks_large_values() {
    let numbers: Value = (0..100_000).collect();
    let mut twice = numbers.clone();
    twice[99_999] = json!(0.0);
    check("unique elements", json!({ "uniqueItems": true }), &numbers, &twice);
    let choices: Value = (0..10_000).collect();
    let other = json!([1, 10_000]);
    check("many choices", json!({ "items": { "enum": choices } }), &numbers_below(10_000), &other);
    let unevaluated = (0..12).fold(
        json!({ "properties": { "x": true, "y": true } }),
        |inner, _| json!({ "allOf": [inner], "unevaluatedProperties": false }),
    );
    check("nested unevaluated properties", unevaluated, &nested(1, json!(1)), &json!({ "z": 1 }));
}

fn numbers_below(end: u32) -> Value {
    (0..end).collect()
}

/// References that multiply from level to level of the value.
#[test]
fn accepts_schemas_with_many_references() {
    #[track_caller]
    fn check_levels(name: &str, branch: fn(&str) -> Value, around: fn(Value) -> Value) {
        let value = |leaf: Value| (0..8).fold(leaf, |inner, _| around(inner));
        check(name, levels(8, branch), &value(json!(1)), &value(json!("x")));
    }
    let object = |inner| json!({ "x": inner });
    let array = |inner| json!([inner]);
    check_levels("members", |next| json!({ "properties": { "x": { "$ref": next } } }), object);
    check_levels("all", |next| json!({ "additionalProperties": { "$ref": next } }), object);
    check_levels(
        "patterns",
        |next| json!({ "patternProperties": { "x": { "$ref": next } } }),
        object,
    );
    check_levels("elements", |next| json!({ "items": { "$ref": next } }), array);
    let operator = |name: &str| json!({ "properties": { "args": { "items": { "$ref": "#" } }, "op": { "const": name } } });
    let operators: Vec<_> = (0..9).map(|index| operator(&index.to_string())).collect();
    let schema = json!({ "type": ["object", "integer"], "oneOf": operators, "required": ["op"] });
    let value = |op: &str| {
        (0..20).fold(json!({ "op": op }), |inner, _| json!({ "op": "8", "args": [inner] }))
    };
    check("alternatives", schema, &value("7"), &value("9"));
}

#[test]
fn accepts_recursive_schemas() {
    let tree = json!({
        "type": ["object", "array", "integer"],
        "properties": { "x": { "$ref": "#" } },
        "items": { "$ref": "#" },
    });
    check("a tree", tree, &nested(12, json!(1)), &nested(12, json!("x")));
    // Each level is checked for each kind.
    let kind = |name: &str| {
        json!({
            "required": ["kind", "x"],
            "properties": { "kind": { "const": name }, "x": { "$ref": "#/$defs/node" } },
        })
    };
    let union = json!({
        "$ref": "#/$defs/node",
        "$defs": { "node": { "anyOf": [{ "type": "integer" }, kind("and"), kind("or"), kind("not")] } },
    });
    let value = |leaf: Value| (0..40).fold(leaf, |inner, _| json!({ "kind": "not", "x": inner }));
    check("a union", union, &value(json!(1)), &json!({ "kind": "no", "x": 1 }));
    let doubled = json!({ "properties": { "x": { "$ref": "#/$defs/a" } } });
    let doubled = json!({ "$ref": "#/$defs/a", "$defs": {
        "a": { "type": ["object", "integer"], "allOf": [doubled, doubled] },
    } });
    let value = |leaf: Value| (0..20).fold(leaf, |inner, _| json!({ "x": inner }));
    check("doubled at each level", doubled, &value(json!(1)), &value(json!("x")));
    let generated = Schema::of_input::<Vec<Option<std::collections::BTreeMap<String, u8>>>>();
    check("generated", generated.as_value().clone(), &json!([{ "a": 1 }]), &json!([{ "a": "x" }]));
}

#[test]
fn rejects_too_many_values_for_an_expensive_schema() {
    let all: Vec<_> = (0..900).map(|_| json!({ "type": "integer" })).collect();
    let schema = json!({ "type": "array", "items": { "allOf": all } });
    let validator = Validator::new(&Schema::from(schema)).unwrap();
    let few: Value = (0..1_000).collect();
    validator.check(&few, few.to_string().len()).unwrap();
    let many: Value = (0..100_000).collect();
    let refused = validator.check(&many, many.to_string().len()).unwrap_err();
    assert!(refused.as_slice()[0].to_string().contains("too many values"), "{refused:?}");
    // A large text is a single value.
    let text = json!(["x".repeat(1 << 20)]);
    let faults = validator.check(&text, text.to_string().len()).unwrap_err();
    assert!(!faults.as_slice()[0].to_string().contains("too many values"), "{faults:?}");
}
