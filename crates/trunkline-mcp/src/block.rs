//! Content blocks: text, images, audio and resources in the results of tools.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use trunkline::{IntoOutcome, Outcome};

/// A piece of content. A handler of an operation with [`blocks`](trunkline::tool::ToolOperation::blocks) returns
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
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
    /// A resource with its content.
    Resource {
        /// The resource.
        resource: Resource,
    },
}

/// A resource in a [`Block`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Its URI.
    pub uri: String,
    /// Its media type.
    pub mime_type: String,
    /// Its text.
    pub text: String,
}

impl Block {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// An image of this media type.
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Image { data: STANDARD.encode(bytes), mime_type: mime_type.into() }
    }

    /// Audio of this media type.
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Audio { data: STANDARD.encode(bytes), mime_type: mime_type.into() }
    }

    /// A resource with its text.
    pub fn resource(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        let (uri, mime_type, text) = (uri.into(), mime_type.into(), text.into());
        Self::Resource { resource: Resource { uri, mime_type, text } }
    }
}

impl IntoOutcome for Block {
    fn into_outcome(self) -> Outcome {
        Outcome::result(&[self])
    }
}
