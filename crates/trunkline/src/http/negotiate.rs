//! What a body is: its media type and its coding (RFC 9110, section 8).

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT};

use super::refusal::Refusal;

const JSON_TYPES: [&str; 3] =
    ["application/json", "application/json-rpc", "application/jsonrequest"];

/// Passes what says to be JSON in UTF-8, not compressed.
///
/// The type is required, and exact: a browser sends other types to other sites without asking
/// them first. `Accept` is not looked at: there is one answer.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Refusal> {
    for expectation in headers.get_all(EXPECT) {
        if !expectation.as_bytes().eq_ignore_ascii_case(b"100-continue") {
            return Err(Refusal::Expectation);
        }
    }
    for coding in headers.get_all(CONTENT_ENCODING) {
        if !coding.as_bytes().eq_ignore_ascii_case(b"identity") {
            return Err(Refusal::Coding);
        }
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (first, second) = (types.next(), types.next());
    if second.is_some() {
        return Err(Refusal::Malformed("the Content-Type header stands twice"));
    }
    match first {
        Some(value) if value == JSON_TYPES[0] => Ok(()),
        Some(value) if value.to_str().is_ok_and(is_json) => Ok(()),
        _ => Err(Refusal::MediaType),
    }
}

fn is_json(value: &str) -> bool {
    let (media, parameters) = value.split_at(value.find(';').unwrap_or(value.len()));
    let media = media.trim_matches(SPACE);
    JSON_TYPES.iter().any(|json| media.eq_ignore_ascii_case(json)) && are_utf8(parameters)
}

/// Optional white space (RFC 9110, section 5.6.3).
const SPACE: [char; 2] = [' ', '\t'];

/// Whether the parameters are well formed (section 5.6.6) and name no charset but UTF-8.
fn are_utf8(mut parameters: &str) -> bool {
    while let Some(rest) = parameters.strip_prefix(';') {
        parameters = rest.trim_start_matches(SPACE);
        // There may be nothing between semicolons.
        if parameters.is_empty() || parameters.starts_with(';') {
            continue;
        }
        let Some((name, value, rest)) = parameter(parameters) else {
            return false;
        };
        if name.eq_ignore_ascii_case("charset") && !value.eq_ignore_ascii_case("utf-8") {
            return false;
        }
        parameters = rest.trim_start_matches(SPACE);
    }
    parameters.is_empty()
}

/// The name and the value of the first parameter, and what follows it.
fn parameter(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = token(text)?;
    let rest = rest.strip_prefix('=')?;
    let (value, rest) = match rest.strip_prefix('"') {
        Some(rest) => quoted(rest)?,
        None => token(rest)?,
    };
    Some((name, value, rest))
}

fn token(text: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// What stands before the closing quote, escapes as they are, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.find(|c| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })?;
    Some((&text[..end], &text[end + 1..]))
}
