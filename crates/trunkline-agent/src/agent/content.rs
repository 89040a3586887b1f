//! Content blocks, as MCP defines them, as text for the model.

use trunkline_mcp::tools::ToolResult;
use trunkline_mcp::{Block, BlockKind, ResourceData};

/// The text of an array of content blocks. `None` if it is not one.
pub(super) fn blocks_text(json: &[u8]) -> Option<String> {
    Some(text_of(&serde_json::from_slice::<Vec<Block>>(json).ok()?))
}

/// The text of the result of a tool: that of its content, or its structured content if it has none. `None` if it is not
/// such a result.
pub(super) fn tool_result_text(json: &[u8]) -> Option<String> {
    let ToolResult { content, structured_content, is_error, .. } =
        serde_json::from_slice(json).ok()?;
    let text = match structured_content {
        Some(structured) if content.is_empty() => structured.get().to_owned(),
        _ => text_of(&content),
    };
    Some(if is_error { format!("Error: {text}") } else { text })
}

fn text_of(blocks: &[Block]) -> String {
    let texts: Vec<String> = blocks.iter().map(block_text).collect();
    texts.join("\n")
}

/// The text of a block. Models receive no images or other bytes, only their descriptions.
fn block_text(block: &Block) -> String {
    match &block.kind {
        BlockKind::Text { text } => text.clone(),
        BlockKind::Image { mime_type, .. } => format!("[image: {mime_type}]"),
        BlockKind::Audio { mime_type, .. } => format!("[audio: {mime_type}]"),
        BlockKind::Resource { resource } => match &resource.data {
            ResourceData::Text(text) => text.clone(),
            ResourceData::Blob(_) => format!("[resource: {}]", resource.uri),
        },
        BlockKind::ResourceLink(resource) => format!("[resource: {}]", resource.uri),
        BlockKind::Other(members) => {
            format!("[{}]", members.get("type").and_then(|kind| kind.as_str()).unwrap_or("?"))
        }
        _ => "[?]".to_owned(),
    }
}
