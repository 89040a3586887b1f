use serde::Serialize;
use serde_json::{Map, Value};
use trunkline_core::call::Description;
use trunkline_core::schema::Schema;

use super::components::Components;

/// "Content Descriptor Object".
#[derive(Debug, Serialize)]
pub(super) struct Content {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    required: bool,
    #[serde(skip_serializing_if = "is_false")]
    deprecated: bool,
    schema: Value,
}

/// The params of a method and their structure.
pub(super) struct Params {
    pub(super) structure: Structure,
    pub(super) params: Vec<Content>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Structure {
    Either,
    ByName,
}

impl Params {
    pub(super) fn of(description: &Description, components: &mut Components) -> Self {
        let name = format!("{}.params", description.name);
        let input = description.input.as_ref().map(|input| components.schema(&name, input));
        let object = input.as_ref().map_or(&Value::Null, |input| components.resolve(input));
        let properties = object.get("properties").and_then(Value::as_object);
        let mut properties = properties.cloned().unwrap_or_default();
        let is_required = |name: &str| {
            let required = object.get("required").and_then(Value::as_array);
            required.is_some_and(|required| required.iter().any(|one| one == name))
        };
        let content = |name: &str, properties: &mut Map<String, Value>| {
            let schema = properties.remove(name).unwrap_or(Value::Bool(true));
            Content::new(name.to_owned(), is_required(name), schema)
        };
        let declared = description.params.iter();
        let mut params: Vec<_> = declared.map(|name| content(name, &mut properties)).collect();
        let unordered: Vec<_> = properties.keys().cloned().collect();
        let is_ordered = unordered.is_empty() && !description.variadic;
        params.extend(unordered.iter().map(|name| content(name, &mut properties)));
        let structure = if is_ordered && params.is_sorted_by_key(|param| !param.required) {
            Structure::Either
        } else {
            // "All optional params MUST be positioned after all required params".
            params.sort_by_key(|param| !param.required);
            Structure::ByName
        };
        Self { structure, params }
    }
}

impl Content {
    pub(super) fn result(description: &Description, components: &mut Components) -> Self {
        let name = format!("{}.result", description.name);
        let schema = |output: &Schema| components.schema(&name, output);
        let schema = description.output.as_ref().map_or(Value::Bool(true), schema);
        Self::new("result".to_owned(), false, schema)
    }

    /// Moves the description and the deprecation from the schema to the content descriptor.
    fn new(name: String, required: bool, mut schema: Value) -> Self {
        let mut remove = |key| schema.as_object_mut().and_then(|object| object.remove(key));
        let description = match remove("description") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let deprecated = remove("deprecated") == Some(Value::Bool(true));
        Self { name, description, required, deprecated, schema }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
