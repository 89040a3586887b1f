//! Hints about content: annotations and icons.

use serde::{Deserialize, Serialize};

use super::lenient::hints;

/// A participant of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The language model.
    Assistant,
}

/// Hints to a client about the use of a resource or a block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// The intended readers. Empty if the content is for all.
    #[serde(default, deserialize_with = "hints", skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// The importance, from 0 (optional) to 1 (required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// The time of the last change, in ISO 8601: `2025-01-12T15:00:58Z` (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl Annotations {
    /// No annotations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the intended readers.
    #[must_use]
    pub fn audience(mut self, audience: impl IntoIterator<Item = Role>) -> Self {
        self.audience = audience.into_iter().collect();
        self
    }

    /// Sets the importance. Values outside of 0 to 1 are replaced by the nearer one.
    #[must_use]
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = Some(if priority.is_nan() { 0.0 } else { priority.clamp(0.0, 1.0) });
        self
    }

    /// Sets the time of the last change, in ISO 8601.
    #[must_use]
    pub fn last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }
}

/// An icon for the user interface of a client (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// An `https:` URL or a `data:` URI.
    pub src: String,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes, such as `48x48`, or `any`. Empty if the icon suits all sizes.
    #[serde(default, deserialize_with = "hints", skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// The background that the icon is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<Theme>,
}

/// A background for icons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

impl Icon {
    /// An icon at this URL or `data:` URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), mime_type: None, sizes: Vec::new(), theme: None }
    }

    /// Sets the sizes, such as `48x48`, or `any`.
    #[must_use]
    pub fn sizes<T: Into<String>>(mut self, sizes: impl IntoIterator<Item = T>) -> Self {
        self.sizes = sizes.into_iter().map(T::into).collect();
        self
    }

    /// Sets the background that the icon is made for.
    #[must_use]
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = Some(theme);
        self
    }
}

setters!(Icon: mime_type);
