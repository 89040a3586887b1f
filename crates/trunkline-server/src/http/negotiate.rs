//! Content negotiation: the format of a body by its media type and coding (RFC 9110, section 8), and the format
//! of its reply. `formats` are those of the endpoint.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, EXPECT};
use trunkline_client::media_type::MediaType;
use trunkline_core::format::{Format, Formats};

use super::accept;
use super::fields::Fields;
use super::refusal::Refusal;

/// Accepts a body that is declared to be in one of the formats, in UTF-8, not compressed.
///
/// The exact type is required: browsers send other types to other sites without a preflight.
pub(super) fn check(fields: &Fields<'_>, formats: &'static [Format]) -> Result<Formats, Refusal> {
    if !fields.all_are(fields.expect, EXPECT, b"100-continue") {
        return Err(Refusal::Expectation);
    }
    if !fields.all_are(fields.content_encoding, CONTENT_ENCODING, b"identity") {
        return Err(Refusal::Coding);
    }
    if fields.content_type.is_repeated {
        return Err(Refusal::Malformed("duplicate Content-Type header"));
    }
    let request = match fields.content_type.first {
        // That of most requests, which every endpoint accepts.
        Some(value) if value == Format::Json.media_type() => Some(Format::Json),
        Some(value) => value.to_str().ok().and_then(|value| format(value, formats)),
        None => None,
    };
    let request = request.ok_or(Refusal::MediaType(formats))?;
    Ok(Formats { request, reply: reply(fields, request, formats) })
}

/// The format of the reply to a request without a body.
pub(super) fn without_body(headers: &HeaderMap, formats: &[Format]) -> Format {
    reply(&Fields::of(headers), Format::Json, formats)
}

/// The format of the reply to a refused request.
pub(crate) fn refused(headers: &HeaderMap, formats: &[Format]) -> Format {
    match formats {
        [only] => *only,
        _ => {
            let fields = Fields::of(headers);
            reply(&fields, declared(&fields, formats), formats)
        }
    }
}

/// The declared format of a body, or JSON if it is missing or unknown.
fn declared(fields: &Fields<'_>, formats: &[Format]) -> Format {
    let value = fields.content_type.first.and_then(|value| value.to_str().ok());
    value.and_then(|value| format(value, formats)).unwrap_or_default()
}

/// The format of the reply to a request in this format.
fn reply(fields: &Fields<'_>, request: Format, formats: &[Format]) -> Format {
    match formats {
        [only] => *only,
        _ => accept::preferred(fields, request, formats),
    }
}

/// The format of a `Content-Type`, if it is known and in UTF-8.
fn format(value: &str, formats: &[Format]) -> Option<Format> {
    let parsed = MediaType::parse(value)?;
    let format = formats.iter().copied().find(|format| format.has_media_type(parsed.name))?;
    parsed.has_charset_in(&["utf-8"]).then_some(format)
}
