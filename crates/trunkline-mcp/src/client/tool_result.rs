use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::Error;
use crate::protocol::method;

/// The result of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolResult {
    /// The content blocks, as received.
    pub content: Vec<Value>,
    /// The structured content, as received.
    pub structured: Option<Box<RawValue>>,
    /// Whether the tool has failed.
    pub is_error: bool,
    /// The whole object, as received.
    pub object: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultMembers {
    #[serde(default)]
    content: Vec<Value>,
    structured_content: Option<Box<RawValue>>,
    #[serde(default)]
    is_error: bool,
}

impl ToolResult {
    /// The texts of the content, with a line feed between blocks. Other blocks are omitted.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter(|block| block["type"] == "text");
        texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn read(object: Box<RawValue>) -> Result<Self, Error> {
        let members: ResultMembers = serde_json::from_str(object.get())
            .map_err(|error| Error::malformed(method::TOOLS_CALL, error))?;
        Ok(Self {
            content: members.content,
            structured: members.structured_content,
            is_error: members.is_error,
            object,
        })
    }
}
