//! The contents of resources.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline::{IntoOutcome, Outcome};

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
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Contents {
    /// The items.
    pub contents: Vec<ResourceContents>,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// An item of the contents of a resource, and an embedded resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceContents {
    /// The URI. If it is empty in the result of `resources/read`, it is that of the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uri: String,
    /// The media type. If it is missing in the result of `resources/read`, it is that of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text or the bytes.
    #[serde(flatten)]
    pub data: ResourceData,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// The data of [`ResourceContents`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ResourceData {
    /// Text.
    Text(String),
    /// Bytes in base64.
    Blob(String),
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

    /// Adds a member of `_meta` of the result. The name should have a prefix, such as `com.example/`.
    #[must_use]
    pub fn meta(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(name.into(), value.into());
        self
    }
}

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

    /// Sets the media type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Adds a member of `_meta`. The name should have a prefix, such as `com.example/`.
    #[must_use]
    pub fn meta(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(name.into(), value.into());
        self
    }
}

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
