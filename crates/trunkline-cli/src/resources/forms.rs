//! What a server publishes at `GET /forms`.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::summary::{FieldSummary, Summary, shown};
use crate::client::Members;

#[derive(Deserialize)]
struct Document {
    forms: Vec<Form>,
}

/// One command of a resource, or another operation.
#[derive(Deserialize)]
struct Form {
    resource: String,
    command: String,
    input: Option<Box<RawValue>>,
    output: Option<Box<RawValue>>,
}

/// The JSON Schema of what `create` takes.
#[derive(Deserialize)]
struct Input {
    properties: Members<Property>,
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
    let document: Document = serde_json::from_str(document.get()).ok()?;
    let forms = &document.forms;
    let created = forms.iter().filter(|form| form.command == "create");
    Some(created.filter_map(|form| summary(form, forms)).collect())
}

/// None of what only has a command of this name.
fn summary(create: &Form, forms: &[Form]) -> Option<Summary> {
    /// What `create` takes besides fields.
    const OTHERS: [&str; 2] = ["id", "metadata"];
    let of_type = || forms.iter().filter(|form| form.resource == create.resource);
    let read = of_type().find(|form| form.command == "read")?;
    let mut schema: Value = serde_json::from_str(read.output.as_ref()?.get()).ok()?;
    let record = schema.as_object_mut()?;
    record.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    record.insert("title".to_owned(), create.resource.as_str().into());

    let Input { properties, required } = serde_json::from_str(create.input.as_ref()?.get()).ok()?;
    let fields = properties.0.into_iter().filter(|(name, _)| !OTHERS.contains(&name.as_str()));
    let field = |(name, property): (String, Property)| FieldSummary {
        kind: property.kind.as_ref().map(shown).unwrap_or_default(),
        is_required: required.contains(&name),
        default: property.default.as_ref().map(shown).unwrap_or_default(),
        values: property.values.iter().map(shown).collect(),
        description: property.description,
        name,
    };
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    Some(Summary {
        name: create.resource.clone(),
        description: description.to_owned(),
        fields: fields.map(field).collect(),
        commands: of_type().map(|form| form.command.clone()).collect(),
        schema,
    })
}
