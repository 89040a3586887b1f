use serde::Deserialize;

/// A folder or file that a client has opened for servers (2025-11-25, "Roots").
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// Its URI, with the scheme `file`.
    pub uri: String,
    /// Its display name.
    pub name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct RootList {
    pub(super) roots: Vec<Root>,
}
