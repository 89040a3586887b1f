//! Which web pages may call (RFC 6454), and which may read the replies (CORS).

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use super::refusal::Refusal;
use super::settings::Settings;

/// Passes requests without an Origin, those from this server's own pages, and those listed.
pub(super) fn check(parts: &Parts, settings: &Settings) -> Result<(), Refusal> {
    let mut values = parts.headers.get_all(ORIGIN).iter();
    let Some(origin) = values.next() else {
        return Ok(());
    };
    if values.next().is_some() {
        return Err(Refusal::Malformed("the Origin header stands twice"));
    }
    if same_origin(origin, parts)
        || lists(&settings.allow_origins, origin)
        || lists(&settings.cors_origins, origin)
    {
        return Ok(());
    }
    Err(Refusal::Origin(String::from_utf8_lossy(origin.as_bytes()).into_owned()))
}

/// The Origin that the replies of this request are shared with.
pub(super) fn shared_with(headers: &HeaderMap, settings: &Settings) -> Option<HeaderValue> {
    if settings.cors_origins.is_empty() {
        return None;
    }
    let origin = headers.get(ORIGIN)?;
    lists(&settings.cors_origins, origin).then(|| origin.clone())
}

/// Whether a list names an origin. An empty one, should it be listed by mistake, is nobody's.
fn lists(list: &[String], origin: &HeaderValue) -> bool {
    !origin.is_empty() && list.iter().any(|listed| listed == "*" || origin == listed.as_str())
}

/// Adds what lets the browser show a reply to its page.
pub(super) fn share(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("origin"));
}

/// Whether a browser asks before it sends the request itself.
pub(super) fn is_preflight(parts: &Parts) -> bool {
    parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Adds what a preflight wants to know.
pub(super) fn grant(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, OPTIONS"));
    let allowed = "content-type, authorization, x-request-id";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
}

/// Whether the page came from the host that it calls. The scheme is unknown behind a proxy that
/// ends TLS, so either counts; Host itself has been checked against the names that are ours.
fn same_origin(origin: &HeaderValue, parts: &Parts) -> bool {
    let host = match parts.uri.authority() {
        Some(authority) => authority.as_str().as_bytes(),
        None => parts.headers.get(HOST).map_or(b"".as_slice(), HeaderValue::as_bytes),
    };
    let origin = origin.as_bytes();
    match (origin.strip_prefix(b"http://"), origin.strip_prefix(b"https://")) {
        (Some(authority), _) => same_authority(authority, host, b":80"),
        (_, Some(authority)) => same_authority(authority, host, b":443"),
        _ => false,
    }
}

fn same_authority(one: &[u8], other: &[u8], default_port: &[u8]) -> bool {
    let bare = |authority: &[u8]| {
        authority.strip_suffix(default_port).unwrap_or(authority).to_ascii_lowercase()
    };
    !other.is_empty() && bare(one) == bare(other)
}
