//! Content blocks: text, images, audio and resources in the results of tools and in the messages of prompts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline::{IntoOutcome, Outcome};

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, skip_serializing_if = "Map::is_empty")]
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
}

impl Block {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        BlockKind::Text { text: text.into() }.into()
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

    /// Sets the hints about the use of the block.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Adds a member of `_meta`. The name should have a prefix, such as `com.example/`.
    #[must_use]
    pub fn meta(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(name.into(), value.into());
        self
    }
}

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
