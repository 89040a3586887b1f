//! The format of a body by its media type and coding (RFC 9110, section 8), and the format of its reply.
//!
//! `formats` are those of the endpoint.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT};
use trunkline_client::media_type::{self, MediaType};
use trunkline_core::format::{Format, Formats};

use super::accept;
use super::refusal::Refusal;

/// Passes a body that is declared to be in one of the formats, in UTF-8, not compressed.
///
/// The type is required, and exact: a browser sends other types to other sites without asking
/// them first.
pub(super) fn check(headers: &HeaderMap, formats: &'static [Format]) -> Result<Formats, Refusal> {
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
    let request = match first {
        Some(value) if value == Format::Json.media_type() => Some(Format::Json),
        Some(value) => value.to_str().ok().and_then(format),
        None => None,
    };
    let request = request.filter(|format| formats.contains(format));
    let request = request.ok_or(Refusal::MediaType(formats))?;
    Ok(Formats { request, reply: reply(headers, request, formats) })
}

/// The format of the reply to a request without a body.
pub(super) fn without_body(headers: &HeaderMap, formats: &[Format]) -> Format {
    reply(headers, Format::Json, formats)
}

/// The format of the reply to a refused request.
pub(super) fn refused(headers: &HeaderMap, formats: &[Format]) -> Format {
    match formats {
        [only] => *only,
        _ => reply(headers, named(headers), formats),
    }
}

/// The format of the reply to a JSON-RPC request that a server cannot serve.
pub(crate) fn unserved(headers: &HeaderMap) -> Format {
    refused(headers, Format::ALL)
}

/// What a body with these headers says to be; JSON if it is nothing that is known.
fn named(headers: &HeaderMap) -> Format {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    named.and_then(format).unwrap_or_default()
}

/// The format of the reply to a request in this format.
fn reply(headers: &HeaderMap, request: Format, formats: &[Format]) -> Format {
    match formats {
        [only] => *only,
        _ => accept::preferred(headers, request, formats),
    }
}

/// The format that a `Content-Type` names, if it is one, in UTF-8.
fn format(value: &str) -> Option<Format> {
    let parsed = MediaType::parse(value)?;
    let format = media_type::named(parsed.name)?;
    parsed.is_in(&["utf-8"]).then_some(format)
}
