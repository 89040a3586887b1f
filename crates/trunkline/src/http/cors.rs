//! Which web pages may read the replies (CORS).

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use super::origin::lists;
use super::settings::Settings;

/// The Origin that the replies of this request are shared with.
pub(super) fn shared_with(headers: &HeaderMap, settings: &Settings) -> Option<HeaderValue> {
    if settings.cors_origins.is_empty() {
        return None;
    }
    let origin = headers.get(ORIGIN)?;
    lists(&settings.cors_origins, origin).then(|| origin.clone())
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

/// Adds what a preflight wants to know. Whoever may call may send what headers it likes: which ones
/// there are, the doors know, and some are named after the params of tools.
pub(super) fn grant(headers: &mut HeaderMap, methods: HeaderValue, asked: &HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    let usual = HeaderValue::from_static("content-type, authorization, x-request-id");
    let wanted = asked.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.unwrap_or(usual));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
}
