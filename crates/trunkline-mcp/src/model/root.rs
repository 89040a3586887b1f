use serde::{Deserialize, Serialize};

/// A folder or file that a client has opened for servers (2025-11-25, "Roots").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Its URI, with the scheme `file`.
    pub uri: String,
    /// Its display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
