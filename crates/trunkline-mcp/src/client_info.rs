//! The name and version that a client gives of itself.

use std::sync::Arc;

use crate::model::Implementation;

/// The name and version of a client: `clientInfo` of `initialize`, or of `_meta` in the stateless era. The client chooses
/// them, so nothing may be permitted by them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientInfo {
    name: Arc<str>,
    version: Arc<str>,
}

/// The maximum length of a name and of a version in bytes. Sessions store them.
const MAX_BYTES: usize = 128;

impl ClientInfo {
    /// The beginnings of a name and a version.
    pub(crate) fn new(name: &str, version: &str) -> Self {
        let shortened = |text: &str| Arc::from(&text[..text.floor_char_boundary(MAX_BYTES)]);
        Self { name: shortened(name), version: shortened(version) }
    }

    /// The members of a JSON object. `None` without a name. A malformed object is not an error, since a client that works
    /// with other servers may send it.
    pub(crate) fn parse(json: &[u8]) -> Option<Self> {
        let Implementation { name, version, .. } = serde_json::from_slice(json).ok()?;
        (!name.is_empty()).then(|| Self::new(&name, &version))
    }

    /// The name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The version. Empty if the client has none.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }
}

#[cfg(test)]
mod tests {
    use super::ClientInfo;

    #[track_caller]
    fn check(json: &str, expected: Option<(&str, &str)>) {
        let found = ClientInfo::parse(json.as_bytes());
        let found = found.as_ref().map(|client| (client.name(), client.version()));
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn names_and_versions_are_read() {
        check(r#"{"name":"a","version":"1"}"#, Some(("a", "1")));
        check(r#"{"title":"A","name":"a\u00e9","version":"1","x":[]}"#, Some(("aé", "1")));
        check(r#"{"name":"a"}"#, Some(("a", "")));
        check(r#"{"name":"","version":"1"}"#, None);
        check(r#"{"version":"1"}"#, None);
        check(r#"{"name":7,"version":"1"}"#, None);
        check(r#"{"name":"a","version":1}"#, None);
        check(r#"{"name":"a","name":"b"}"#, None);
        check("[]", None);
        check("null", None);
        // `é` has two bytes, and is not divided.
        let long = format!("x{}", "é".repeat(200));
        let beginning = format!("x{}", "é".repeat(63));
        let json = format!(r#"{{"name":"{long}","version":"{long}"}}"#);
        check(&json, Some((&beginning, &beginning)));
    }
}
