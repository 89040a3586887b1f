//! The entries of `tools/list`.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use trunkline::tool::Rendering;
use trunkline::{Effect, Schema};

use super::{Tool, ToolIcons, ToolMeta};
use crate::content::Icon;
use crate::era::Era;
use crate::protocol::Legacy;

/// The form of lists and results.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) era: Era,
    /// The revision of a request of the first era, or the latest one.
    pub(crate) revision: Legacy,
    pub(crate) has_output_schemas: bool,
}

/// A tool's entry (2025-11-25 and 2026-07-28, "Tool"). Models read it in every conversation, so it is short.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    // Optional in the protocol, but some clients require it.
    description: &'a str,
    input_schema: InputSchema<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Annotations::is_empty")]
    annotations: Annotations,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    icons: &'a [Icon],
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a Map<String, Value>>,
}

/// The hints about a tool. An absent one has the protocol's default, which is the worst case.
#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotent_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_world_hint: Option<bool>,
}

/// An input schema without its description, which repeats that of the tool.
struct InputSchema<'a>(&'a Value);

/// The JSON text of an entry. Before the stateless era, results must be objects, and schemas of other results are
/// omitted.
pub(crate) fn list_entry(tool: &Tool, form: Form) -> Vec<u8> {
    serde_json::to_vec(&Entry::of(tool, form)).expect("JSON values serialise into memory")
}

impl<'a> Entry<'a> {
    fn of(tool: &'a Tool, form: Form) -> Self {
        let description = tool.description();
        let output = description.output.as_ref().filter(|_| form.has_output_schemas);
        let output = output.map(Schema::as_value);
        let output = match Rendering::of(description) {
            Rendering::Blocks => None,
            Rendering::ToolResult => output.and_then(|schema| structured_content(schema)),
            Rendering::Json | Rendering::Text(_) | Rendering::TextOnly(_) => output,
        };
        let is_allowed = |schema: &&Value| {
            form.era == Era::Modern || schema.get("type").is_some_and(|kind| kind == "object")
        };
        Self {
            name: tool.name(),
            title: description.title.as_deref(),
            description: description.text.as_deref().unwrap_or_default(),
            input_schema: InputSchema(tool.input.as_value()),
            output_schema: output.filter(is_allowed),
            annotations: Annotations::of(tool),
            icons: description.extensions.get::<ToolIcons>().map_or(&[], |icons| &icons.0),
            meta: description.extensions.get::<ToolMeta>().map(|meta| &meta.0),
        }
    }
}

/// The schema of the structured content in that of a tool's result.
fn structured_content(result: &Value) -> Option<&Value> {
    result.get("properties")?.get("structuredContent")
}

impl Annotations {
    /// Destructive and idempotent hints concern tools that are not read-only.
    fn of(tool: &Tool) -> Self {
        let description = tool.description();
        let is_read_only = description.effect.map(|effect| effect == Effect::ReadOnly);
        let change = description.effect.filter(|effect| *effect != Effect::ReadOnly);
        let is_idempotent = description.idempotent && is_read_only != Some(true);
        Self {
            read_only_hint: is_read_only,
            destructive_hint: change.map(|effect| effect == Effect::Destructive),
            idempotent_hint: is_idempotent.then_some(true),
            open_world_hint: description.closed_world.then_some(false),
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Serialize for InputSchema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_object() {
            Some(members) => {
                serializer.collect_map(members.iter().filter(|(name, _)| *name != "description"))
            }
            None => self.0.serialize(serializer),
        }
    }
}
