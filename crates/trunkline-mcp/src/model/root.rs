use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::lenient::hint;

/// A folder or file that a client has opened for servers (2025-11-25, "Roots").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Its URI, with the scheme `file`.
    pub uri: String,
    /// Its display name.
    #[serde(default, deserialize_with = "hint", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The roots of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListRootsResult {
    #[serde(default, deserialize_with = "roots")]
    pub(crate) roots: Vec<Root>,
}

/// A client without roots may send null. An entry may be a URI; others without one are left out.
fn roots<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Root>, D::Error> {
    let entries: Option<Vec<Value>> = Option::deserialize(deserializer)?;
    let root = |entry| match entry {
        Value::String(uri) => Some(Root { uri, name: None }),
        entry => serde_json::from_value(entry).ok(),
    };
    Ok(entries.unwrap_or_default().into_iter().filter_map(root).collect())
}
