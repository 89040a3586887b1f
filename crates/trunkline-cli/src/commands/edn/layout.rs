//! The layout of JSON text.

/// Valid JSON without white space between its tokens, which stay as they are.
pub(super) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    // Every second part is in quotes.
    while let Some((between, string)) = rest.split_once('"') {
        push_tokens(between, &mut out);
        let end = end_of_string(string);
        out.push('"');
        out.push_str(&string[..end]);
        rest = &string[end..];
    }
    push_tokens(rest, &mut out);
    out
}

fn push_tokens(text: &str, out: &mut String) {
    out.extend(text.split_ascii_whitespace());
}

/// The length of a string behind its first quote, with the last one.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let is_end = |byte: u8| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    };
    text.bytes().position(is_end).map_or(text.len(), |at| at + 1)
}
