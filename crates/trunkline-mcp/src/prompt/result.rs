//! Outcomes as results of `prompts/get`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::down_level;
use crate::protocol::Legacy;

/// The members of a result that is an object.
#[derive(Deserialize)]
struct Members<'a> {
    description: Option<String>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    role: Option<&'a RawValue>,
    #[serde(rename = "_meta", default)]
    meta: Map<String, Value>,
}

/// Appends the members `description` and `messages`, and returns those of `_meta`. `None` if the result is neither text
/// nor messages.
pub(crate) fn write_prompt(
    json: &mut Vec<u8>,
    result: &[u8],
    description: Option<&str>,
    revision: Legacy,
) -> Option<Map<String, Value>> {
    let describe = |json: &mut Vec<u8>, own: Option<&str>| {
        if let Some(text) = own.or(description) {
            json.extend_from_slice(b"\"description\":");
            serde_json::to_writer(&mut *json, text).expect("text serialises into memory");
            json.push(b',');
        }
        json.extend_from_slice(b"\"messages\":");
    };
    match result.first()? {
        b'"' => {
            describe(json, None);
            json.extend_from_slice(b"[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
            json.extend_from_slice(result);
            json.extend_from_slice(b"}}]");
            Some(Map::new())
        }
        b'[' => {
            describe(json, None);
            json.extend_from_slice(&down_level(result, revision));
            Some(Map::new())
        }
        b'{' => {
            let Members { description, messages, role, meta } =
                serde_json::from_slice(result).ok()?;
            match (messages, role) {
                (Some(messages), _) => {
                    describe(json, description.as_deref());
                    json.extend_from_slice(&down_level(messages.get().as_bytes(), revision));
                    Some(meta)
                }
                // One message.
                (None, Some(_)) => {
                    describe(json, None);
                    json.push(b'[');
                    json.extend_from_slice(&down_level(result, revision));
                    json.push(b']');
                    Some(Map::new())
                }
                (None, None) => None,
            }
        }
        _ => None,
    }
}
