//! Content blocks, as MCP defines them, as text for the model.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The result of a tool.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult {
    #[serde(default)]
    content: Vec<Value>,
    structured_content: Option<Box<RawValue>>,
    #[serde(default)]
    is_error: bool,
}

/// The text of an array of content blocks. `None` if it is not one.
pub(super) fn blocks_text(json: &[u8]) -> Option<String> {
    Some(text_of(&serde_json::from_slice::<Vec<Value>>(json).ok()?))
}

/// The text of the result of a tool: that of its content, or its structured content if it has none. `None` if it is not
/// such a result.
pub(super) fn tool_result_text(json: &[u8]) -> Option<String> {
    let ToolResult { content, structured_content, is_error } = serde_json::from_slice(json).ok()?;
    let text = match structured_content {
        Some(structured) if content.is_empty() => structured.get().to_owned(),
        _ => text_of(&content),
    };
    Some(if is_error { format!("Error: {text}") } else { text })
}

fn text_of(blocks: &[Value]) -> String {
    let texts: Vec<String> = blocks.iter().map(block_text).collect();
    texts.join("\n")
}

/// The text of a block. Models receive no images or other bytes, only their descriptions.
fn block_text(block: &Value) -> String {
    let member = |value: &Value, name: &str| value[name].as_str().unwrap_or("?").to_owned();
    let kind = member(block, "type");
    let resource = &block["resource"];
    match (kind.as_str(), block["text"].as_str(), resource["text"].as_str()) {
        ("text", Some(text), _) | ("resource", _, Some(text)) => text.to_owned(),
        ("image" | "audio", ..) => format!("[{kind}: {}]", member(block, "mimeType")),
        ("resource", ..) => format!("[resource: {}]", member(resource, "uri")),
        ("resource_link", ..) => format!("[resource: {}]", member(block, "uri")),
        _ => format!("[{kind}]"),
    }
}
