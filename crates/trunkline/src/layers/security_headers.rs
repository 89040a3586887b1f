//! Headers that keep browsers from doing more with a response than it is meant for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, Request, Response};
use tower::{Layer, Service};

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

/// Sets headers of responses, see [`SecurityHeadersLayer`].
#[derive(Debug, Clone)]
pub struct SecurityHeaders<S> {
    inner: S,
    strict_transport: Option<HeaderValue>,
}

impl<S, B, R> Service<Request<B>> for SecurityHeaders<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = SecurityHeadersFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let strict_transport = self.strict_transport.clone();
        SecurityHeadersFuture::new(self.inner.call(request), strict_transport)
    }
}

/// What each response is told, if it does not say otherwise itself.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
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
];

pin_project_lite::pin_project! {
    /// The future of a response that gets security headers.
    pub struct SecurityHeadersFuture<F> {
        #[pin]
        inner: F,
        strict_transport: Option<HeaderValue>,
    }
}

impl<F> SecurityHeadersFuture<F> {
    fn new(inner: F, strict_transport: Option<HeaderValue>) -> Self {
        Self { inner, strict_transport }
    }
}

impl<F, R, E> Future for SecurityHeadersFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = ready!(this.inner.poll(cx))?;
        let headers = response.headers_mut();
        for (name, value) in HEADERS {
            headers.entry(name).or_insert(value);
        }
        if let Some(value) = this.strict_transport.take() {
            headers.entry(STRICT_TRANSPORT_SECURITY).or_insert(value);
        }
        Poll::Ready(Ok(response))
    }
}

impl<F> fmt::Debug for SecurityHeadersFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecurityHeadersFuture")
    }
}
