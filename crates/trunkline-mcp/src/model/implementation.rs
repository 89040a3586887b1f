use serde::{Deserialize, Serialize};

use super::Icon;
use super::lenient::{hint, hints};

/// The description of a server or a client.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Implementation {
    pub(crate) name: String,
    pub(crate) version: String,
    #[serde(deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub(crate) website_url: Option<String>,
    #[serde(deserialize_with = "hints", skip_serializing_if = "Vec::is_empty")]
    pub(crate) icons: Vec<Icon>,
}
