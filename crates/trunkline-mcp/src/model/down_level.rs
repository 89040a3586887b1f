//! Content for clients of earlier revisions.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::protocol::Legacy;

/// JSON with content in which blocks that a revision does not have are replaced by text. Clients may refuse a result
/// with a block of an unknown type.
pub(crate) fn down_level(content: &[u8], revision: Legacy) -> Cow<'_, [u8]> {
    if revision >= Legacy::V2025_06_18 {
        return Cow::Borrowed(content);
    }
    let Ok(mut value) = serde_json::from_slice(content) else { return Cow::Borrowed(content) };
    if !replace(&mut value, revision) {
        return Cow::Borrowed(content);
    }
    Cow::Owned(serde_json::to_vec(&value).expect("JSON values serialise into memory"))
}

/// Replaces blocks in an array, a message or a list of messages. Returns whether there was any.
fn replace(value: &mut Value, revision: Legacy) -> bool {
    match value {
        Value::Array(values) => {
            let replaced =
                values.iter_mut().filter_map(|value| replace(value, revision).then_some(()));
            replaced.count() > 0
        }
        Value::Object(members) => {
            let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
            let text = match text("type") {
                "resource_link" => format!("{}: {}", text("name"), text("uri")),
                "audio" if revision < Legacy::V2025_03_26 => {
                    format!("audio ({}), which this client does not support", text("mimeType"))
                }
                "" => {
                    return members
                        .get_mut("content")
                        .is_some_and(|block| replace(block, revision));
                }
                _ => return false,
            };
            *value = json!({ "type": "text", "text": text });
            true
        }
        _ => false,
    }
}
