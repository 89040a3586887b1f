//! The requests and responses of entries.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use trunkline_core::call::RegisteredOperation;

use crate::redaction::{Passage, Redacted, Redaction};

/// A request or a response: JSON without white space between tokens, truncated to the limit of an entry.
///
/// It is stored unchanged, and its secrets are redacted whenever it is read, so that the call does not wait.
/// Text beyond the limit is redacted and truncated immediately.
///
/// Serialises to an object with `text`, `bytes` (the size of the original) and `cut`.
#[derive(Clone)]
pub struct Text {
    bytes: usize,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Original { text: Box<[u8]>, rules: Rules },
    Redacted(Redacted),
}

/// The rules for redacting a text.
#[derive(Clone)]
pub(super) struct Rules {
    pub(super) redaction: Arc<Redaction>,
    /// The method, for hooks.
    pub(super) method: Box<str>,
    /// The operation, which has the names of params by position.
    pub(super) operation: Option<Arc<RegisteredOperation>>,
    /// The maximum size of the redacted text, in bytes.
    pub(super) limit: usize,
}

impl Text {
    pub(super) fn new(passage: Passage<'_>, rules: Rules) -> Self {
        let bytes = passage.len();
        let content = if bytes > rules.limit {
            Content::Redacted(rules.redacted(passage))
        } else {
            Content::Original { text: passage.to_bytes(), rules }
        };
        Self { bytes, content }
    }

    /// The text without its secrets.
    #[must_use]
    pub fn redacted(&self) -> Cow<'_, Redacted> {
        match &self.content {
            Content::Original { text, rules } => Cow::Owned(rules.redacted(Passage::whole(text))),
            Content::Redacted(redacted) => Cow::Borrowed(redacted),
        }
    }

    /// The size of the original text, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The memory used by the text, in bytes.
    pub(super) fn weight(&self) -> usize {
        match &self.content {
            Content::Original { text, rules } => text.len() + rules.method.len(),
            Content::Redacted(redacted) => redacted.text.len(),
        }
    }
}

impl Rules {
    fn redacted(&self, passage: Passage<'_>) -> Redacted {
        let params = self.operation.as_ref().map(|operation| &*operation.description().params);
        self.redaction.apply(&self.method, params.unwrap_or_default(), passage, self.limit)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.redacted() == other.redacted()
    }
}

impl Eq for Text {}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let redacted = self.redacted();
        let mut object = serializer.serialize_struct("Text", 3)?;
        object.serialize_field("text", &redacted.text)?;
        object.serialize_field("bytes", &self.bytes)?;
        object.serialize_field("cut", &redacted.is_cut)?;
        object.end()
    }
}

/// Shows the redacted text.
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let redacted = self.redacted();
        f.debug_struct("Text").field("bytes", &self.bytes).field("redacted", &redacted).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a text with this limit, and checks its serialised form and its weight.
    #[track_caller]
    fn check(limit: usize, expected: &str, is_cut: bool, weight: usize) {
        let sent = br#"{"pin":1234,"b": [1, 2]}"#;
        let redaction = Arc::new(Redaction::default());
        let rules = Rules { redaction, method: "m".into(), operation: None, limit };
        let text = Text::new(Passage::whole(sent), rules);
        let shown = serde_json::json!({ "text": expected, "bytes": sent.len(), "cut": is_cut });
        assert_eq!(serde_json::to_value(&text).unwrap(), shown, "{limit}");
        assert_eq!(text.weight(), weight, "{limit}");
        assert!(!format!("{text:?}").contains("1234"), "{limit}");
    }

    #[test]
    fn redacts_secrets_when_a_text_is_read() {
        let whole = r#"{"pin":"[redacted]","b":[1,2]}"#;
        check(100, whole, false, 25);
        check(30, whole, false, 25);
        check(29, &whole[..29], true, 25);
        check(24, &whole[..24], true, 25);
        check(23, &whole[..23], true, 23);
        check(0, "", true, 0);
    }
}
