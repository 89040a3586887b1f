//! Outcomes as results of `tools/call`.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trunkline::tool::Rendering;
use trunkline::{ErrorObject, Outcome};

use super::list::Form;
use crate::era::Era;
use crate::model::down_level;

/// Appends the members of a tool's result: `content`, `structuredContent`, `isError`. Before the stateless era,
/// structured content must be an object.
pub(crate) fn write_result(
    json: &mut Vec<u8>,
    outcome: &Outcome,
    rendering: Rendering,
    arguments: &[u8],
    form: Form,
) {
    let outcome = outcome.as_result();
    match (outcome, rendering) {
        (Ok(blocks), Rendering::Blocks) => {
            json.extend_from_slice(b"\"content\":");
            write_blocks(json, blocks, form);
        }
        (outcome, Rendering::Text(render) | Rendering::TextOnly(render)) => {
            write_text(json, &render(arguments, outcome));
        }
        // The text of a string, and the JSON of other results.
        (Ok(result), Rendering::Json) if result.starts_with(b"\"") => {
            json.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":");
            json.extend_from_slice(result);
            json.extend_from_slice(b"}]");
        }
        // A result is JSON, which is UTF-8.
        (Ok(result), Rendering::Json | Rendering::ToolResult) => {
            write_text(json, &String::from_utf8_lossy(result));
        }
        (Err(error), Rendering::Json | Rendering::Blocks | Rendering::ToolResult) => {
            write_text(json, &error_text(error));
        }
    }
    let is_structured = match rendering {
        Rendering::Json | Rendering::Text(_) => true,
        // A result must conform to the output schema, if one is listed.
        Rendering::TextOnly(_) => form.has_output_schemas,
        Rendering::Blocks | Rendering::ToolResult => false,
    };
    if let Ok(result) = outcome
        && is_structured
        && (form.era == Era::Modern || result.starts_with(b"{"))
    {
        json.extend_from_slice(b",\"structuredContent\":");
        json.extend_from_slice(result);
    }
    write_is_error(json, outcome.is_err());
}

/// Appends the members of a result that has them already, except those of the envelope, and returns those of `_meta`.
/// `None` if the result is not an object.
pub(crate) fn write_members(
    json: &mut Vec<u8>,
    result: &[u8],
    form: Form,
) -> Option<Map<String, Value>> {
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_slice(result).ok()?;
    members.remove("resultType");
    let meta = members.remove("_meta").map(|meta| serde_json::from_str(meta.get()));
    let meta = meta.transpose().ok()?.unwrap_or_default();
    json.extend_from_slice(b"\"content\":");
    match members.remove("content") {
        Some(content) => write_blocks(json, content.get().as_bytes(), form),
        None => json.extend_from_slice(b"[]"),
    }
    for (name, value) in members {
        let is_structured = name == "structuredContent";
        if is_structured && form.era == Era::Legacy && !value.get().starts_with('{') {
            continue;
        }
        json.push(b',');
        serde_json::to_writer(&mut *json, &name).expect("text serialises into memory");
        json.push(b':');
        json.extend_from_slice(value.get().as_bytes());
    }
    Some(meta)
}

/// Appends the members of the result of a tool that was not run.
pub(crate) fn failure(json: &mut Vec<u8>, text: &str) {
    write_text(json, text);
    write_is_error(json, true);
}

/// Writes the blocks of a result: an array of blocks, one block, or text.
fn write_blocks(json: &mut Vec<u8>, blocks: &[u8], form: Form) {
    let blocks = down_level(blocks, form.revision);
    let (start, end) = match blocks.first() {
        Some(b'[') => (&b""[..], &b""[..]),
        Some(b'"') => (&b"[{\"type\":\"text\",\"text\":"[..], &b"}]"[..]),
        _ => (&b"["[..], &b"]"[..]),
    };
    json.extend_from_slice(start);
    json.extend_from_slice(&blocks);
    json.extend_from_slice(end);
}

fn write_text(json: &mut Vec<u8>, text: &str) {
    json.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":");
    serde_json::to_writer(&mut *json, text).expect("text serialises into memory");
    json.extend_from_slice(b"}]");
}

fn write_is_error(json: &mut Vec<u8>, is_error: bool) {
    json.extend_from_slice(b",\"isError\":");
    json.extend_from_slice(if is_error { b"true" } else { b"false" });
}

/// The text of an error: its message, followed by its reason or its data.
pub(crate) fn error_text(error: &ErrorObject) -> String {
    let message = error.message();
    let Some(data) = error.data() else {
        return message.to_owned();
    };
    let value: Option<Value> = serde_json::from_str(data.get()).ok();
    match value.as_ref().and_then(|value| value.get("reason")?.as_str()) {
        Some(reason) => format!("{message}: {reason}"),
        None => format!("{message}: {}", data.get()),
    }
}
