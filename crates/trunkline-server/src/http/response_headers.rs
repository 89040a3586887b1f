//! The headers of all responses of a service: those of [`HttpConfig`](super::HttpConfig) and the id of the request.

use std::mem;

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, Response};

use super::config::HttpConfig;
use super::request_id::X_REQUEST_ID;

/// Headers that restrict how browsers use a response, for [`HttpConfig::headers`](super::HttpConfig::headers).
///
/// | header | value | effect in a browser |
/// |---|---|---|
/// | `X-Content-Type-Options` | `nosniff` | does not interpret JSON as a page |
/// | `Cache-Control` | `no-store` | does not store results |
/// | `Referrer-Policy` | `no-referrer` | does not send the URL to other sites |
/// | `X-Frame-Options` | `DENY` | does not show the response in frames |
/// | `Content-Security-Policy` | `default-src 'none'; frame-ancestors 'none'` | runs and loads nothing |
/// | `Cross-Origin-Resource-Policy` | `same-origin` | other sites cannot embed the response as an image or script |
///
/// Add `Strict-Transport-Security` once all services of the host use TLS: browsers that receive it use only
/// https for the host (RFC 6797).
///
/// ```
/// use trunkline::http::{HttpConfig, security_headers};
///
/// let config = HttpConfig { headers: security_headers(), ..HttpConfig::default() };
/// ```
#[must_use]
pub fn security_headers() -> HeaderMap {
    HeaderMap::from_iter([
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (
            CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        ),
    ])
}

/// The headers of all responses.
#[derive(Clone)]
pub(super) struct ResponseHeaders {
    /// Contains placeholders for the content type and the id of the request, so that a copy does not grow when
    /// they are set.
    template: HeaderMap,
    is_empty: bool,
    has_content_type: bool,
}

impl ResponseHeaders {
    pub(super) fn new(config: &HttpConfig) -> Self {
        let mut template = config.headers.clone();
        let places = [Some(CONTENT_TYPE), config.request_ids.then_some(X_REQUEST_ID)];
        for name in places.into_iter().flatten() {
            template.entry(name).or_insert(HeaderValue::from_static(""));
        }
        let has_content_type = config.headers.contains_key(CONTENT_TYPE);
        Self { template, is_empty: config.headers.is_empty(), has_content_type }
    }

    /// Adds the headers that the response does not set itself, and the id of its request.
    pub(super) fn add<B>(&self, response: &mut Response<B>, request_id: Option<HeaderValue>) {
        let headers = response.headers_mut();
        if !self.is_empty {
            // Inserting the few headers of the response into a copy is cheaper than inserting each of these headers.
            let own = mem::replace(headers, self.template.clone());
            if !self.has_content_type && !own.contains_key(CONTENT_TYPE) {
                headers.remove(CONTENT_TYPE);
            }
            headers.extend(own);
        }
        if let Some(id) = request_id {
            headers.insert(X_REQUEST_ID, id);
        }
    }
}
