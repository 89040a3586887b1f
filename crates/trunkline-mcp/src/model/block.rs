//! Content blocks: text, images, audio and resources in the results of tools and in the messages of prompts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use trunkline::{IntoOutcome, Outcome};

use super::lenient::{hint, meta};
use super::{Annotations, Resource, ResourceContents};

/// A block of content. A handler of an operation with [`blocks`](trunkline::tool::ToolOperation::blocks) returns
/// one, or `Json(vec![…])`.
///
/// ```
/// # use trunkline::{Operation, Router, tool::ToolOperation};
/// # use trunkline_mcp::Block;
/// let dot = Operation::new("dot", || Block::image(b"\x89PNG...", "image/png"))
///     .description("Shows a dot.")
///     .tool("dot")
///     .blocks();
/// # Router::<()>::new().operation(dot).build().unwrap();
/// ```
///
/// Clients of earlier revisions receive text in place of audio (before 2025-03-26) and of links (before 2025-06-18).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Block {
    /// The content.
    #[serde(flatten)]
    pub kind: BlockKind,
    /// Hints about the use of the block.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, with = "meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// The content of a [`Block`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockKind {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The content in base64.
        data: String,
        /// Its media type.
        mime_type: String,
    },
    /// Audio (since 2025-03-26).
    #[serde(rename_all = "camelCase")]
    Audio {
        /// The content in base64.
        data: String,
        /// Its media type.
        mime_type: String,
    },
    /// A resource that the client can read (since 2025-06-18).
    ResourceLink(Box<Resource>),
    /// A resource with its content.
    Resource {
        /// The resource.
        resource: ResourceContents,
    },
    /// A block of another side that the model does not have, or that is malformed, with its members.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

impl Block {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        BlockKind::Text { text: text.into() }.into()
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            BlockKind::Text { text } => Some(text),
            _ => None,
        }
    }

    /// An image of this media type.
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        BlockKind::Image { data: STANDARD.encode(bytes), mime_type: mime_type.into() }.into()
    }

    /// Audio of this media type.
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        BlockKind::Audio { data: STANDARD.encode(bytes), mime_type: mime_type.into() }.into()
    }

    /// A resource with its text.
    pub fn resource(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        ResourceContents::text(text).uri(uri).mime_type(mime_type).into()
    }

    /// A link to a resource.
    #[must_use]
    pub fn link(mut resource: Resource) -> Self {
        // Both the resource and the block have these members, which are the same in JSON.
        let (annotations, meta) = (resource.annotations.take(), std::mem::take(&mut resource.meta));
        Self { kind: BlockKind::ResourceLink(Box::new(resource)), annotations, meta }
    }
}

setters!(Block: annotations, meta);

impl From<BlockKind> for Block {
    fn from(kind: BlockKind) -> Self {
        Self { kind, annotations: None, meta: Map::new() }
    }
}

/// An embedded resource.
impl From<ResourceContents> for Block {
    fn from(resource: ResourceContents) -> Self {
        BlockKind::Resource { resource }.into()
    }
}

impl From<&str> for Block {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Block {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl IntoOutcome for Block {
    fn into_outcome(self) -> Outcome {
        Outcome::result(&[self])
    }
}

/// Content blocks: an array, one block, or a text instead of a block. Values of other types are omitted.
pub(super) fn blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Block>, D::Error> {
    let values = match Value::deserialize(deserializer)? {
        Value::Array(values) => values,
        Value::Null => Vec::new(),
        value @ (Value::Object(_) | Value::String(_)) => vec![value],
        _ => return Err(D::Error::custom("not an array of content blocks")),
    };
    let block = |value: Value| match value {
        Value::String(text) => Some(text.into()),
        value => serde_json::from_value(value).ok(),
    };
    Ok(values.into_iter().filter_map(block).collect())
}
