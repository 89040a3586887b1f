//! Outcomes as results of `resources/read`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::model::{Contents, ResourceContents, ResourceData};

/// Appends the member `contents`, and returns the members of `_meta`. `None` if the result is `null`: the resource does not exist.
///
/// A result of the form of [`Contents`] has the items. Of other results, text is the content of the one item, and JSON
/// is its own text.
pub(crate) fn write_contents(
    json: &mut Vec<u8>,
    result: &[u8],
    uri: &str,
    mime_type: Option<&str>,
) -> Option<Map<String, Value>> {
    let item = |json: &mut Vec<u8>, default: &str| {
        json.extend_from_slice(b"\"contents\":[{\"uri\":");
        write(json, uri);
        json.extend_from_slice(b",\"mimeType\":");
        write(json, mime_type.unwrap_or(default));
        json.extend_from_slice(b",\"text\":");
    };
    match result.first() {
        _ if result == b"null" => return None,
        Some(b'"') => {
            item(json, "text/plain");
            json.extend_from_slice(result);
            json.extend_from_slice(b"}]");
        }
        Some(b'{') if let Some(mut contents) = contents_of(result) => {
            for item in &mut contents.contents {
                if item.uri.is_empty() {
                    uri.clone_into(&mut item.uri);
                }
                let default = match item.data {
                    ResourceData::Text(_) => mime_type.unwrap_or("text/plain"),
                    ResourceData::Blob(_) => mime_type.unwrap_or("application/octet-stream"),
                };
                item.mime_type.get_or_insert_with(|| default.to_owned());
            }
            json.extend_from_slice(b"\"contents\":");
            write(json, &contents.contents);
            return Some(contents.meta);
        }
        _ => {
            item(json, "application/json");
            // A result is JSON, which is UTF-8.
            write(json, &String::from_utf8_lossy(result));
            json.extend_from_slice(b"}]");
        }
    }
    Some(Map::new())
}

/// A result of the form of [`Contents`], with no other members.
fn contents_of(result: &[u8]) -> Option<Contents> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Exactly {
        contents: Vec<ResourceContents>,
        #[serde(rename = "_meta", default)]
        meta: Map<String, Value>,
    }
    const NAME: &[u8] = b"\"contents\"";
    let has_name = result.windows(NAME.len()).take(MAX_SEARCHED).any(|part| part == NAME);
    let read = has_name.then(|| serde_json::from_slice(result).ok()).flatten();
    let Exactly { contents, meta } = read?;
    Some(Contents { contents, meta })
}

/// The number of bytes in which the member's name is searched. It is the first one, except in results of other servers.
const MAX_SEARCHED: usize = 4_096;

fn write<T: serde::Serialize + ?Sized>(json: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(json, value).expect("JSON values serialise into memory");
}
