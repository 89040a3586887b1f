//! Tools as `tools/list` shows them.

use serde::Serialize;
use serde_json::{Value, json};
use trunkline::tool::Rendering;
use trunkline::{Effect, Schema};

use super::Tool;

/// A tool's entry (2025-11-25 and 2026-07-28, "Tool").
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    // Optional in the protocol, but some clients insist on it.
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    annotations: Value,
}

/// Appends the JSON of all entries. In the stateless era results may be any value; before it they
/// are objects, and schemas of others are left out.
pub(crate) fn write_list<'a>(
    json: &mut Vec<u8>,
    tools: impl Iterator<Item = &'a Tool>,
    modern: bool,
) {
    let entries: Vec<Entry<'_>> = tools.map(|tool| Entry::of(tool, modern)).collect();
    serde_json::to_writer(json, &entries).expect("JSON values serialise into memory");
}

impl<'a> Entry<'a> {
    fn of(tool: &'a Tool, modern: bool) -> Self {
        let description = tool.description();
        let output = match Rendering::of(description) {
            Rendering::Blocks => None,
            Rendering::Json | Rendering::Text(_) => description.output.as_ref(),
        };
        let fits = |schema: &&Value| modern || schema.get("type").is_some_and(|t| t == "object");
        Self {
            name: tool.name(),
            title: description.title.as_deref(),
            description: description.text.as_deref().unwrap_or_default(),
            input_schema: tool.input.as_value(),
            output_schema: output.map(Schema::as_value).filter(fits),
            annotations: annotations(tool),
        }
    }
}

/// Hints; what was not said has the protocol's default, which is the worst case.
fn annotations(tool: &Tool) -> Value {
    let description = tool.description();
    let mut hints = json!({});
    if let Some(effect) = description.effect {
        hints["readOnlyHint"] = (effect == Effect::Reads).into();
        hints["destructiveHint"] = (effect == Effect::Destroys).into();
    }
    if description.idempotent || description.effect == Some(Effect::Reads) {
        hints["idempotentHint"] = true.into();
    }
    if description.closed_world {
        hints["openWorldHint"] = false.into();
    }
    if let Some(title) = &description.title {
        hints["title"] = title.as_str().into();
    }
    hints
}
