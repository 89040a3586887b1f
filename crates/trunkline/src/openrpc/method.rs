use serde::Serialize;
use serde_json::Value;
use trunkline_core::call;
use trunkline_core::call::{Description, Effect};

use super::components::Components;
use super::content::{Content, Params, Structure};
use super::errors::{self, ErrorEntry};

/// "Method Object".
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Method {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<Tag>,
    param_structure: Structure,
    params: Vec<Content>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Content>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ErrorEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    examples: Vec<Pairing>,
}

/// "Tag Object".
#[derive(Debug, Serialize)]
struct Tag {
    name: &'static str,
}

impl Method {
    pub(super) fn new(description: &Description, components: &mut Components) -> Self {
        let Params { structure, params } = Params::of(description, components);
        // A method without a result can only be called as a notification ("Method Object", `result`).
        let result = (!description.notification).then(|| Content::result(description, components));
        let examples = &description.examples;
        let examples = examples.iter().map(|example| Pairing::new(example, &params)).collect();
        Self {
            name: description.name.clone(),
            summary: description.title.clone(),
            description: description.text.clone(),
            tags: tags(description),
            param_structure: structure,
            params,
            result,
            errors: errors::list(description, components),
            examples,
        }
    }
}

fn tags(description: &Description) -> Vec<Tag> {
    let effect = description.effect.map(|effect| match effect {
        Effect::ReadOnly => "read-only",
        Effect::Additive => "additive",
        Effect::Destructive => "destructive",
    });
    let idempotent = description.idempotent.then_some("idempotent");
    effect.into_iter().chain(idempotent).map(|name| Tag { name }).collect()
}

/// "Example Pairing Object": params and their result.
#[derive(Debug, Serialize)]
pub(super) struct Pairing {
    name: String,
    params: Vec<Example>,
    result: Example,
}

/// "Example Object".
#[derive(Debug, Serialize)]
struct Example {
    name: String,
    value: Value,
}

impl Pairing {
    /// Sorts the params of the example in the order of `params`, those of the method.
    pub(super) fn new(example: &call::Example, params: &[Content]) -> Self {
        let mut values: Vec<_> = example.params.iter().collect();
        let place = |name: &str| params.iter().position(|param| param.name == name);
        values.sort_by_key(|(name, _)| place(name).unwrap_or(params.len()));
        let one =
            |(name, value): (&String, &Value)| Example { name: name.clone(), value: value.clone() };
        Self {
            name: example.name.clone(),
            params: values.into_iter().map(one).collect(),
            result: Example { name: "result".to_owned(), value: example.result.clone() },
        }
    }
}
