//! What a server publishes at `GET /forms`.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::summary::{FieldSummary, Summary, shown};

/// A path, or what it takes: one command of a resource, or another operation.
#[derive(Deserialize)]
struct Form {
    /// The operation's name.
    rel: String,
    #[serde(default)]
    resource: String,
    #[serde(default)]
    command: String,
    /// Those of a resource, in the order of their declaration.
    #[serde(default)]
    fields: Vec<String>,
    input: Option<Box<RawValue>>,
    output: Option<Box<RawValue>>,
}

/// The JSON Schema of what `create` takes.
#[derive(Deserialize)]
struct Input {
    properties: HashMap<String, Property>,
    #[serde(default)]
    required: Vec<String>,
}

#[derive(Deserialize)]
struct Property {
    #[serde(rename = "type")]
    kind: Option<Value>,
    default: Option<Value>,
    #[serde(rename = "enum", default)]
    values: Vec<Value>,
    #[serde(default)]
    description: String,
}

/// The types of resources, in the order in which they are published. None if this is no such document.
pub(super) fn types(document: &RawValue) -> Option<Vec<Summary>> {
    let forms: Vec<Form> = serde_json::from_str(document.get()).ok()?;
    let created = forms.iter().filter(|form| form.command == "create");
    Some(created.filter_map(|form| summary(form, &forms)).collect())
}

/// None of what only has a command of this name.
fn summary(create: &Form, forms: &[Form]) -> Option<Summary> {
    let read = format!("{}.read", create.resource);
    let read = forms.iter().find(|form| form.rel == read)?;
    let mut schema: Value = serde_json::from_str(read.output.as_ref()?.get()).ok()?;
    let record = schema.as_object_mut()?;
    record.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    record.insert("title".to_owned(), create.resource.as_str().into());

    let input: Input = serde_json::from_str(create.input.as_ref()?.get()).ok()?;
    let field = |name: &String| {
        let property = input.properties.get(name)?;
        Some(FieldSummary {
            name: name.clone(),
            kind: property.kind.as_ref().map(shown).unwrap_or_default(),
            is_required: input.required.contains(name),
            default: property.default.as_ref().map(shown).unwrap_or_default(),
            values: property.values.iter().map(shown).collect(),
            description: property.description.clone(),
        })
    };
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let of_type = forms.iter().filter(|form| form.resource == create.resource);
    Some(Summary {
        name: create.resource.clone(),
        description: description.to_owned(),
        fields: create.fields.iter().map(field).collect::<Option<_>>()?,
        commands: of_type.map(|form| form.command.clone()).collect(),
        schema,
    })
}
