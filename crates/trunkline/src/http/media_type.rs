//! Media types and their parameters, as headers have them (RFC 9110, section 8.3).

use http::HeaderValue;

use crate::format::Format;

/// What JSON calls itself.
pub(super) const JSON_TYPES: [&str; 3] =
    ["application/json", "application/json-rpc", "application/jsonrequest"];

/// What EDN calls itself.
#[cfg(feature = "edn")]
pub(super) const EDN_TYPE: &str = "application/edn";

/// Optional white space (section 5.6.3).
pub(super) const SPACE: [char; 2] = [' ', '\t'];

/// The `Content-Type` of a reply.
pub(crate) fn content_type(format: Format) -> HeaderValue {
    match format {
        Format::Json => HeaderValue::from_static("application/json"),
        // JSON is UTF-8 wherever it goes. Of EDN nobody has said so, and there are clients that read
        // any text without a charset as ISO 8859-1.
        #[cfg(feature = "edn")]
        Format::Edn => HeaderValue::from_static("application/edn; charset=utf-8"),
    }
}

/// The format that a `Content-Type` names, if it is one, in UTF-8.
pub(super) fn format(value: &str) -> Option<Format> {
    let (media, parameters) = value.split_at(value.find(';').unwrap_or(value.len()));
    let format = named(media.trim_matches(SPACE))?;
    are_utf8(parameters).then_some(format)
}

fn named(media: &str) -> Option<Format> {
    if JSON_TYPES.iter().any(|json| media.eq_ignore_ascii_case(json)) {
        return Some(Format::Json);
    }
    #[cfg(feature = "edn")]
    if media.eq_ignore_ascii_case(EDN_TYPE) {
        return Some(Format::Edn);
    }
    None
}

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
pub(super) fn parameter(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = token(text)?;
    let rest = rest.strip_prefix('=')?;
    let (value, rest) = match rest.strip_prefix('"') {
        Some(rest) => quoted(rest)?,
        None => token(rest)?,
    };
    Some((name, value, rest))
}

/// A token (section 5.6.2), and what follows it.
pub(super) fn token(text: &str) -> Option<(&str, &str)> {
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
