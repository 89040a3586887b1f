//! Descriptions of resources.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::lenient::{count, hint, hints, meta};
use super::{Annotations, Icon};

/// A resource that clients can read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The name. Empty if a server has sent none.
    #[serde(default, deserialize_with = "hint")]
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size of the content in bytes, before base64.
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Hints about the use of the resource.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Icons for user interfaces.
    #[serde(default, deserialize_with = "hints", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, with = "meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    #[serde(skip)]
    pub(crate) caching: Caching,
}

/// A set of resources whose URIs match a template.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceTemplate {
    /// The template (RFC 6570).
    pub uri_template: String,
    /// The name. Empty if a server has sent none.
    #[serde(default, deserialize_with = "hint")]
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type, if it is the same for all resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Hints about the use of the resources.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Icons for user interfaces.
    #[serde(default, deserialize_with = "hints", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, with = "meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    #[serde(skip)]
    pub(crate) caching: Caching,
    /// Whether the operation reads the URI instead of the values of variables.
    #[serde(skip)]
    pub(crate) reads_whole_uri: bool,
}

/// The limits of the caching of a result (since 2026-07-28).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Caching {
    pub(crate) ttl: Duration,
    pub(crate) is_public: bool,
}

impl Resource {
    /// A resource with this URI and name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }

    /// Sets the size of the content in bytes, before base64.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }
}

impl ResourceTemplate {
    /// Resources whose URIs match a template, with this name.
    ///
    /// The URIs that a template matches, and the params of the operation:
    ///
    /// | expression | matches | param |
    /// |---|---|---|
    /// | `{name}` | one or more characters other than `/`, `?` and `#` | the text |
    /// | `{/name}`, `{.name}` | `/` or `.`, followed by the same | the text |
    /// | `{+name}` | one or more characters | the text |
    /// | `{#name}` | `#`, followed by the same | the text |
    /// | `{?one,two}` | a query with some of these names, in any order, at the end | the texts of those present |
    ///
    /// Percent-encodings are decoded. If the input schema of the operation declares a param as a number or a boolean,
    /// the text is converted, unless the operation has [`strict_params`](trunkline::Operation::strict_params). A text
    /// does not match if it has control characters or a segment `.` or `..`, starts with `/` after a `/`, or is not
    /// UTF-8. Of several possible matches, the first one with shorter values for earlier variables counts. Modifiers
    /// (`{name*}`, `{name:3}`), `{;name}`, `{&name}` and two adjacent variables are not supported.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self { uri_template: uri_template.into(), name: name.into(), ..Self::default() }
    }

    /// The operation reads [`ResourceUri`](crate::ResourceUri). All of RFC 6570 is supported then: a template that
    /// [`new`](Self::new) does not support has no params, and a URI of up to 16 KiB matches it if each expression can be
    /// expanded to a part of it.
    #[must_use]
    pub fn whole_uri(mut self) -> Self {
        self.reads_whole_uri = true;
        self
    }
}

setters!(Resource: title, description, mime_type, annotations, icon, meta, ttl, public);
setters!(ResourceTemplate: title, description, mime_type, annotations, icon, meta, ttl, public);
