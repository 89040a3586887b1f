//! What a body is: its media type and its coding (RFC 9110, section 8).

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT};
use mime::Mime;

use super::refusal::Refusal;

const JSON_TYPES: [&str; 3] =
    ["application/json", "application/json-rpc", "application/jsonrequest"];

/// Passes what says to be JSON in UTF-8, not compressed.
///
/// The type is required, and exact: a browser sends other types to other sites without asking
/// them first. `Accept` is not looked at: there is one answer.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Refusal> {
    if let Some(expectation) = headers.get(EXPECT)
        && !expectation.as_bytes().eq_ignore_ascii_case(b"100-continue")
    {
        return Err(Refusal::Expectation);
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
    let Ok(media) = value.parse::<Mime>() else {
        return false;
    };
    let known = JSON_TYPES.iter().any(|json| media.essence_str().eq_ignore_ascii_case(json));
    let utf8 = |(name, value): (mime::Name<'_>, mime::Name<'_>)| {
        name != mime::CHARSET || value == mime::UTF_8
    };
    known && media.params().all(utf8)
}
