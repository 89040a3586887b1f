//! Which web pages may read the replies (CORS).

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use super::origin::lists;
use super::settings::Settings;

/// Which pages may read the reply to one request.
pub(super) enum Sharing {
    /// No page of another origin ever may.
    Off,
    /// Pages of this origin.
    With(HeaderValue),
    /// None, and pages of another origin might have.
    Withheld,
}

impl Sharing {
    pub(super) fn of(headers: &HeaderMap, settings: &Settings) -> Self {
        if settings.cors_origins.is_empty() {
            return Self::Off;
        }
        match headers.get(ORIGIN).filter(|origin| lists(&settings.cors_origins, origin)) {
            Some(origin) => Self::With(origin.clone()),
            None => Self::Withheld,
        }
    }

    pub(super) fn is_granted(&self) -> bool {
        matches!(self, Self::With(_))
    }

    /// Adds what lets the browser show a reply to its page, and keeps caches from showing pages of one
    /// origin what was meant for another.
    pub(super) fn mark(self, headers: &mut HeaderMap) {
        if !matches!(self, Self::Off) {
            headers.append(VARY, HeaderValue::from_static("origin"));
        }
        if let Self::With(origin) = self {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        }
    }
}

/// The headers of replies that pages may read, besides those that they always may.
const EXPOSED: &str = "retry-after, www-authenticate, x-request-id, etag";

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
