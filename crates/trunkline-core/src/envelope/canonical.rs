//! JSON text in a form that depends only on its values.

use super::{Elements, Members, Span, Text};

/// The text of `json`, which must be valid, without white space between its tokens, with the members of objects in the
/// order of their names, and with the shortest escapes. Numbers are unchanged: `1.0` and `1` differ.
#[must_use]
pub fn canonical(json: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(json.len());
    write(json.trim_ascii(), &mut text);
    text
}

fn write(json: &[u8], text: &mut Vec<u8>) {
    match json.first() {
        Some(b'{') => write_object(json, text),
        Some(b'[') => {
            text.push(b'[');
            let start = text.len();
            let mut elements = Elements::new(json);
            while let Some(element) = elements.next_value() {
                separate(text, start);
                write(element, text);
            }
            text.push(b']');
        }
        Some(b'"') if json.contains(&b'\\') => {
            let literal = Text { span: Span::new(0, json.len()), escaped: true };
            write_string(&literal.unescape(json), text);
        }
        _ => text.extend_from_slice(json),
    }
}

fn write_object(json: &[u8], text: &mut Vec<u8>) {
    let mut members = Members::new(json);
    let members = std::iter::from_fn(|| members.next_member());
    let mut members: Vec<_> = members.map(|(name, value)| (name.value(json), value)).collect();
    // Stable: duplicates keep their order, on which their meaning depends.
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    text.push(b'{');
    let start = text.len();
    for (name, value) in members {
        separate(text, start);
        write_string(&name, text);
        text.push(b':');
        write(value, text);
    }
    text.push(b'}');
}

/// Appends a comma, except before the first item.
fn separate(text: &mut Vec<u8>, start: usize) {
    if text.len() > start {
        text.push(b',');
    }
}

fn write_string(value: &str, text: &mut Vec<u8>) {
    serde_json::to_writer(text, value).expect("text serialises into memory");
}
