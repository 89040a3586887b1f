//! Recursive schemas, and schemas with definitions.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trunkline::{Json, JsonSchema, Operation, Params, RawParams};

use super::document as document_of;

#[derive(Deserialize, Serialize, JsonSchema)]
struct Tree {
    leaves: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
struct Grown {
    tree: Tree,
    second: Option<Tree>,
}

fn tree(name: &str) -> Operation {
    Operation::new(name, || Json(Tree { leaves: Vec::new() })).output::<Tree>()
}

fn grow() -> Operation {
    let grow = |Params(grown): Params<Grown>| {
        Json(Tree { leaves: [Some(grown.tree), grown.second].into_iter().flatten().collect() })
    };
    Operation::new("grow", grow).input::<Grown>().output::<Tree>()
}

fn raw(name: &str, output: Value) -> Operation {
    Operation::new(name, |_: RawParams| ()).output_schema(output)
}

/// Checks that all references of the document have a target in it, and that there are `count` of them.
#[track_caller]
fn check(name: &str, operations: impl IntoIterator<Item = Operation>, count: usize) -> Value {
    let document = document_of(operations);
    let mut references = Vec::new();
    collect(&document, &mut references);
    for reference in &references {
        let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        assert!(target.is_some(), "{name}: {reference} has no target in {document:#}");
    }
    assert_eq!(references.len(), count, "{name}: {references:?}");
    document
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                references.push(reference.clone());
            }
            members.values().for_each(|value| collect(value, references));
        }
        Value::Array(elements) => {
            elements.iter().for_each(|value| collect(value, references));
        }
        _ => {}
    }
}

#[test]
fn recursive_types() {
    let document = check("a result", [tree("forest.tree")], 2);
    let name = json!({ "$ref": "#/components/schemas/ForestTreeResult" });
    assert_eq!(document["methods"][0]["result"]["schema"], name);
    let schema = &document["components"]["schemas"]["ForestTreeResult"];
    assert_eq!(schema["properties"]["leaves"]["items"], name);

    let document = check("the same type twice", [tree("one"), tree("two")], 3);
    assert_eq!(document["methods"][0]["result"], document["methods"][1]["result"]);
    assert_eq!(document["components"]["schemas"].as_object().unwrap().len(), 1);

    check("inside of params", [grow()], 5);
}

#[test]
fn definitions() {
    let leaf = |kind: &str| {
        json!({
            "$defs": { "leaf": { "type": kind } },
            "type": "array",
            "items": { "$ref": "#/$defs/leaf" },
        })
    };
    let names = |document: &Value| -> Vec<String> {
        document["components"]["schemas"].as_object().unwrap().keys().cloned().collect()
    };
    let same = [raw("a", leaf("string")), raw("b", leaf("string"))];
    assert_eq!(names(&check("the same", same, 2)), ["leaf"]);

    let others = [raw("a", leaf("string")), raw("b", leaf("null")), raw("c", leaf("number"))];
    let document = check("others of the same name", others, 3);
    assert_eq!(names(&document), ["leaf", "leaf2", "leaf3"]);
    assert_eq!(document["components"]["schemas"]["leaf2"], json!({ "type": "null" }));

    let odd = json!({
        "definitions": { "a b/c~d": { "items": { "$ref": "#/definitions/a%20b~1c~0d" } } },
        "$ref": "#/definitions/a%20b~1c~0d/items",
        "description": "next to a reference",
    });
    let document = check("odd names", [raw("a", odd)], 2);
    assert_eq!(names(&document), ["a_b_c_d"]);
    let result = &document["methods"][0]["result"];
    assert_eq!(result["description"], "next to a reference");
    assert_eq!(
        result["schema"],
        json!({ "allOf": [{ "$ref": "#/components/schemas/a_b_c_d/items" }] })
    );

    let inner = json!({
        "title": "Pair of things",
        "properties": { "a": { "type": "string" }, "b": { "$ref": "#/properties/a" } },
    });
    assert_eq!(names(&check("no definition", [raw("a", inner)], 2)), ["PairOfThings"]);

    let values = json!({ "default": { "$ref": "#/nowhere" }, "enum": [{ "$ref": "#" }] });
    let document = document_of([raw("a", values.clone())]);
    assert_eq!(document["methods"][0]["result"]["schema"], values, "values are not references");
    assert_eq!(document.get("components"), None);
}

#[test]
fn params_with_a_reference_as_the_schema() {
    let input = json!({
        "$defs": { "in": { "properties": { "a": { "type": "string" } }, "required": ["a"] } },
        "$ref": "#/$defs/in",
    });
    let operation = Operation::new("a", |_: RawParams| ()).input_schema(input);
    let document = document_of([operation]);
    assert_eq!(
        document["methods"][0]["params"],
        json!([{ "name": "a", "required": true, "schema": { "type": "string" } }])
    );
    let circle = json!({ "$defs": { "a": { "$ref": "#/$defs/a" } }, "$ref": "#/$defs/a" });
    let operation = Operation::new("a", |_: RawParams| ()).input_schema(circle);
    assert_eq!(document_of([operation])["methods"][0]["params"], json!([]));
}
