//! The contents of resources.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline::{IntoOutcome, Outcome};

use super::lenient::{hint, meta, nullable};

/// The result of reading a resource: one item or several, for example the files of a folder.
///
/// ```
/// # use trunkline::{Operation, Router};
/// # use trunkline_mcp::{Contents, McpOperation, Mcp, McpConfig, Resource};
/// let logo = Operation::new("logo", || Contents::binary(b"\x89PNG..."))
///     .resource(Resource::new("app://logo", "logo").mime_type("image/png"));
/// # let rpc = Router::new().operation(logo).build().unwrap();
/// # Mcp::new(rpc, McpConfig::new("test", "1")).unwrap();
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Contents {
    /// The items.
    pub contents: Vec<ResourceContents>,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, with = "meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// An item of the contents of a resource, and an embedded resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "Members")]
#[non_exhaustive]
pub struct ResourceContents {
    /// The URI. If it is empty in the result of `resources/read`, it is that of the request.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uri: String,
    /// The media type. If it is missing in the result of `resources/read`, it is that of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text or the bytes.
    #[serde(flatten)]
    pub data: ResourceData,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// The data of [`ResourceContents`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ResourceData {
    /// Text.
    Text(String),
    /// Bytes in base64.
    Blob(String),
}

/// The members of [`ResourceContents`], of which one has the data.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    #[serde(default, deserialize_with = "nullable")]
    uri: String,
    #[serde(default, deserialize_with = "hint")]
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
    #[serde(rename = "_meta", default, deserialize_with = "hint")]
    meta: Map<String, Value>,
}

impl TryFrom<Members> for ResourceContents {
    type Error = &'static str;

    fn try_from(members: Members) -> Result<Self, Self::Error> {
        let Members { uri, mime_type, text, blob, meta } = members;
        let data = text.map(ResourceData::Text).or(blob.map(ResourceData::Blob));
        let data = data.ok_or("neither `text` nor `blob`")?;
        Ok(Self { uri, mime_type, data, meta })
    }
}

impl Contents {
    /// One item of text, with the URI of the request and the media type of the resource.
    pub fn text(text: impl Into<String>) -> Self {
        ResourceContents::text(text).into()
    }

    /// One item of bytes, with the URI of the request and the media type of the resource.
    #[must_use]
    pub fn binary(bytes: &[u8]) -> Self {
        ResourceContents::binary(bytes).into()
    }
}

setters!(Contents: meta);

impl ResourceContents {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(ResourceData::Text(text.into()))
    }

    /// Bytes.
    #[must_use]
    pub fn binary(bytes: &[u8]) -> Self {
        Self::new(ResourceData::Blob(STANDARD.encode(bytes)))
    }

    fn new(data: ResourceData) -> Self {
        Self { uri: String::new(), mime_type: None, data, meta: Map::new() }
    }

    /// Sets the URI.
    #[must_use]
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = uri.into();
        self
    }
}

setters!(ResourceContents: mime_type, meta);

impl From<ResourceContents> for Contents {
    fn from(item: ResourceContents) -> Self {
        Self { contents: vec![item], meta: Map::new() }
    }
}

impl FromIterator<ResourceContents> for Contents {
    fn from_iter<I: IntoIterator<Item = ResourceContents>>(items: I) -> Self {
        Self { contents: items.into_iter().collect(), meta: Map::new() }
    }
}

impl IntoOutcome for Contents {
    fn into_outcome(self) -> Outcome {
        Outcome::result(&self)
    }
}
