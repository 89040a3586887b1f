//! What a body is, its media type and its coding (RFC 9110, section 8), and what its reply shall be.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT};
use trunkline_core::format::{Format, Formats};

#[cfg(feature = "edn")]
use super::accept;
use super::media_type;
use super::refusal::Refusal;
use super::route::Route;

/// Passes what says to be in a format of its path, in UTF-8, not compressed.
///
/// The type is required, and exact: a browser sends other types to other sites without asking
/// them first.
pub(super) fn check(headers: &HeaderMap, route: Route<'_>) -> Result<Formats, Refusal> {
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
        Some(value) => value.to_str().ok().and_then(media_type::format),
        None => None,
    };
    let request = request.filter(|format| route.formats().contains(format));
    let request = request.ok_or(Refusal::MediaType(route.formats()))?;
    Ok(Formats { request, reply: reply(headers, request, route) })
}

/// For a request whose body says nothing: it counts as JSON.
pub(super) fn without_body(headers: &HeaderMap, route: Route<'_>) -> Formats {
    Formats { request: Format::Json, reply: reply(headers, Format::Json, route) }
}

/// What a request is answered in that may not come in.
pub(super) fn refused(headers: &HeaderMap, route: Route<'_>) -> Format {
    reply(headers, named(headers), route)
}

/// What a request for calls is answered in by a server that cannot serve it.
pub(crate) fn unserved(headers: &HeaderMap) -> Format {
    refused(headers, Route::Calls)
}

/// What a body with these headers says to be; JSON if it is nothing that is known.
fn named(headers: &HeaderMap) -> Format {
    let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    named.and_then(media_type::format).unwrap_or_default()
}

/// What a request in this format is answered in.
#[cfg(feature = "edn")]
fn reply(headers: &HeaderMap, request: Format, route: Route<'_>) -> Format {
    match route.formats() {
        [only] => *only,
        _ => accept::preferred(headers, request),
    }
}

/// There is one answer, whatever `Accept` says.
#[cfg(not(feature = "edn"))]
fn reply(_headers: &HeaderMap, request: Format, _route: Route<'_>) -> Format {
    request
}
