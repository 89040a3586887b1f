//! Tools and their results.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::block::blocks;
use super::lenient::{hint, hints, meta, nullable};
use super::{Block, Icon};

/// A tool. Operations with a [tool name](trunkline::Operation::tool) are offered as tools.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// The name that calls use.
    pub name: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description for models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments. Clients fetch no references.
    pub input_schema: Box<RawValue>,
    /// The JSON Schema of the structured content. Clients do not check results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
    /// Hints about the effects.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "ToolAnnotations::is_empty")]
    pub annotations: ToolAnnotations,
    /// Icons for user interfaces.
    #[serde(default, deserialize_with = "hints", skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Further data, by names as specified for `_meta`.
    #[serde(rename = "_meta", default, with = "meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// The hints about a [`Tool`]. An absent one has the protocol's default, which is the worst case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The display name, if the tool has no title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether the tool changes nothing.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether the tool may delete or overwrite something.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether a repeated call has no further effect.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Whether the tool uses external systems.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// The result of a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResult {
    /// The content.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<Block>,
    /// The structured content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Box<RawValue>>,
    /// Whether the tool has failed.
    #[serde(default, deserialize_with = "nullable")]
    pub is_error: bool,
}

impl Tool {
    /// The display name.
    #[must_use]
    pub fn display_name(&self) -> Option<&str> {
        self.title.as_deref().or(self.annotations.title.as_deref())
    }

    /// The description, or else the display name.
    #[must_use]
    pub fn summary(&self) -> &str {
        let description = self.description.as_deref().filter(|text| !text.is_empty());
        description.or(self.display_name()).unwrap_or_default()
    }
}

impl ToolAnnotations {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl ToolResult {
    /// The texts of the content, with a line feed between blocks. Other blocks are omitted.
    #[must_use]
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
    }
}
