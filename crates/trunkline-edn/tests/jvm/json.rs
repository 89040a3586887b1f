//! Comparison of JSON with that of the oracle, which has its own notation of floats.

use serde::de::IgnoredAny;

use crate::notation::bits;

/// Whether the JSON of this crate equals the expected one, in which a float is `d` and its bits.
pub(crate) fn is_like(ours: &str, expected: &str) -> bool {
    let is_json = serde_json::from_str::<IgnoredAny>(ours).is_ok();
    let (ours, expected) = (tokens(ours), tokens(expected));
    is_json && ours.len() == expected.len() && ours.into_iter().zip(expected).all(is_token)
}

fn is_token((ours, expected): (&str, &str)) -> bool {
    if let Some(digits) = expected.strip_prefix('d') {
        // A float must remain a float for every JSON reader.
        let float = ours.parse().ok().filter(|_| ours.contains(['.', 'e', 'E']));
        return float.is_some_and(|float| format!("{:016x}", bits(float)) == digits);
    }
    if expected.starts_with('"') {
        let text = |token| serde_json::from_str::<String>(token).ok();
        return text(ours).is_some_and(|ours| text(expected) == Some(ours));
    }
    ours == expected
}

/// Splits JSON into strings, punctuation and other tokens.
fn tokens(json: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '[' | ']' | '{' | '}' | ',' | ':' => 1,
            _ => rest.find(['[', ']', '{', '}', ',', ':', '"']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}
