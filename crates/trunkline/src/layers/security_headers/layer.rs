use std::time::Duration;

use http::HeaderValue;
use tower::Layer;

use super::SecurityHeaders;

/// Sets headers of every response that does not set them itself. It wraps HTTP services: a
/// [`HttpService`](crate::http::HttpService), an axum router.
///
/// | header | value | a browser |
/// |---|---|---|
/// | `X-Content-Type-Options` | `nosniff` | does not guess that JSON is a page |
/// | `Cache-Control` | `no-store` | keeps no results |
/// | `Referrer-Policy` | `no-referrer` | tells no other site where it was |
/// | `X-Frame-Options` | `DENY` | shows it in no frame |
/// | `Content-Security-Policy` | `default-src 'none'; frame-ancestors 'none'` | runs and loads nothing |
/// | `Cross-Origin-Resource-Policy` | `same-origin` | gives it to no other site as an image or a script |
/// | `Strict-Transport-Security` | [when told](Self::strict_transport) | comes by https only |
///
/// ```
/// # use tower::Layer;
/// # use trunkline::{Router, layers::SecurityHeadersLayer};
/// # fn main() -> Result<(), trunkline::BuildError> {
/// # let rpc = Router::new().method("ping", || "pong").build()?;
/// let service = SecurityHeadersLayer::new().layer(rpc.http());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct SecurityHeadersLayer {
    strict_transport: Option<HeaderValue>,
}

impl SecurityHeadersLayer {
    /// All headers, except for `Strict-Transport-Security`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells browsers to come by https only, for `max_age` (RFC 6797). Whole seconds count.
    ///
    /// A browser that was told cannot be told otherwise over plain HTTP: say it once all that this host
    /// serves has a certificate.
    #[must_use]
    pub fn strict_transport(mut self, max_age: Duration) -> Self {
        let value = HeaderValue::try_from(format!("max-age={}", max_age.as_secs()));
        self.strict_transport = value.ok();
        self
    }
}

impl<S> Layer<S> for SecurityHeadersLayer {
    type Service = SecurityHeaders<S>;

    fn layer(&self, inner: S) -> SecurityHeaders<S> {
        SecurityHeaders { inner, strict_transport: self.strict_transport.clone() }
    }
}
