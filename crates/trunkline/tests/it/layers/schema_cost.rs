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
    let in_member = |next: &str| json!({ "properties": { "x": { "$ref": next } } });
    check_refused("through members", levels(8, in_member), most);
    let in_any = |next: &str| json!({ "additionalProperties": { "$ref": next } });
    check_refused("through all members", levels(8, in_any), most);
    let in_pattern = |next: &str| json!({ "patternProperties": { "x": { "$ref": next } } });
    check_refused("through patterns", levels(8, in_pattern), most);
    let in_element = |next: &str| json!({ "items": { "$ref": next } });
    check_refused("through elements", levels(8, in_element), most);
    let in_not = |next: &str| json!({ "not": { "if": { "$ref": next } } });
    check_refused("through conditions", levels(8, in_not), most);
    let escaped = |next: &str| reference(&next.replace("$defs", "%24defs"));
    check_refused("through escaped references", levels(8, escaped), most);
    check_refused("a reference to itself", json!({ "allOf": [{ "$ref": "#" }] }), most);
    let mut back = levels(8, reference);
    back["$defs"]["l8"] = json!({ "items": { "$ref": "#/$defs/l0" } });
    check_refused("a bomb that refers to itself", back, most);
    let unevaluated: Value = (0..12).fold(
        json!({ "type": "integer" }),
        |inner, _| json!({ "allOf": [inner], "unevaluatedProperties": false }),
    );
    check_refused("nested unevaluated properties", unevaluated, most);
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
    check_refused("a large pattern", pattern, "\"regex\"");
    let part = "refer to a part of the schema";
    check_refused("a relative reference", json!({ "$ref": "other.json" }), part);
    check_refused("no such part", json!({ "$ref": "#/$defs/a" }), part);
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
