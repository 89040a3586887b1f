//! The entries of `tools/list`.

use serde_json::{Map, Value};
use trunkline::protocol::Description;
use trunkline::tool::{Rendering, tool_text};
use trunkline::{Effect, Schema};

use super::portable::{portable_input, portable_output};
use super::representation::{ClientResults, Results};
use super::{ExactSchemas, Tool, ToolIcons, ToolMeta};
use crate::era::Era;
use crate::model::{self, ToolAnnotations, raw};
use crate::protocol::Legacy;

/// The form of lists and results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) era: Era,
    /// The revision of a request of the first era, or the latest one.
    pub(crate) revision: Legacy,
    pub(crate) has_output_schemas: bool,
    /// The representation of results. `None` if it follows from the operation.
    pub(crate) results: Option<Results>,
    /// The representation for this client, if it is configured.
    pub(crate) client: Option<ClientResults>,
}

/// The JSON text of an entry. Before the stateless era, results must be objects, and schemas of other results are
/// omitted.
pub(crate) fn list_entry(tool: &Tool, form: Form) -> Vec<u8> {
    serde_json::to_vec(&entry(tool, form)).expect("JSON values serialise into memory")
}

fn entry(tool: &Tool, form: Form) -> model::Tool {
    let description = tool.description();
    let output = description.output.as_ref().filter(|_| form.has_output_schemas);
    let output = output.map(Schema::as_value);
    let output = match Rendering::of(description) {
        Rendering::Blocks => None,
        Rendering::ToolResult => output.and_then(|schema| structured_content(schema)),
        Rendering::Json | Rendering::Text(_) => output,
    };
    let is_allowed = |schema: &&Value| {
        form.era == Era::Modern || schema.get("type").is_some_and(|kind| kind == "object")
    };
    let is_exact = description.extensions.get::<ExactSchemas>().is_some();
    let portable = |schema: &Value| {
        if is_exact { schema.clone() } else { portable_output(schema) }
    };
    model::Tool {
        name: tool.listed_name().to_owned(),
        title: description.title.clone().filter(|title| !title.trim().is_empty()),
        // Optional in the protocol, but some clients require it.
        description: Some(tool_text(description, tool.name()).into_owned()),
        input_schema: raw(&listed_input(description, tool.input.as_value(), form.era)),
        output_schema: output.filter(is_allowed).map(|schema| raw(&portable(schema))),
        annotations: annotations(tool),
        icons: description
            .extensions
            .get::<ToolIcons>()
            .map_or(Vec::new(), |icons| icons.0.clone()),
        meta: description.extensions.get::<ToolMeta>().map_or(Map::new(), |meta| meta.0.clone()),
    }
}

/// The input schema of an operation in the form that language models receive: the portable one, which all hosts of
/// models accept, unless [`McpOperation::exact_schemas`](crate::McpOperation::exact_schemas) is set.
///
/// In this form, each schema has one type, and references are replaced by their targets. What it cannot express is a
/// sentence of the description. Validate arguments against the full schema.
#[must_use]
pub fn model_input(description: &Description, input: &Value) -> Value {
    listed_input(description, input, Era::Legacy)
}

/// The input schema in a list, without its description, which repeats that of the tool.
fn listed_input(description: &Description, schema: &Value, era: Era) -> Value {
    if description.extensions.get::<ExactSchemas>().is_none() {
        return portable_input(schema, era);
    }
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        members.remove("description");
    }
    schema
}

/// The schema of the structured content in that of a tool's result.
fn structured_content(result: &Value) -> Option<&Value> {
    result.get("properties")?.get("structuredContent")
}

/// Destructive and idempotent hints concern tools that are not read-only.
fn annotations(tool: &Tool) -> ToolAnnotations {
    let description = tool.description();
    let is_read_only = description.effect.map(|effect| effect == Effect::ReadOnly);
    let change = description.effect.filter(|effect| *effect != Effect::ReadOnly);
    let is_idempotent = description.idempotent && is_read_only != Some(true);
    ToolAnnotations {
        title: None,
        read_only_hint: is_read_only,
        destructive_hint: change.map(|effect| effect == Effect::Destructive),
        idempotent_hint: is_idempotent.then_some(true),
        open_world_hint: description.closed_world.then_some(false),
    }
}
