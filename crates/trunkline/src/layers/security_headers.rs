//! Headers that keep browsers from doing more with a response than it is meant for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
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
#[derive(Debug, Clone)]
pub struct SecurityHeadersLayer {
    headers: Arc<HeaderMap>,
}

impl Default for SecurityHeadersLayer {
    fn default() -> Self {
        Self { headers: Arc::new(HEADERS.into_iter().collect()) }
    }
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
        if let Ok(value) = HeaderValue::try_from(format!("max-age={}", max_age.as_secs())) {
            Arc::make_mut(&mut self.headers).insert(STRICT_TRANSPORT_SECURITY, value);
        }
        self
    }
}

impl<S> Layer<S> for SecurityHeadersLayer {
    type Service = SecurityHeaders<S>;

    fn layer(&self, inner: S) -> SecurityHeaders<S> {
        SecurityHeaders { inner, headers: Arc::clone(&self.headers) }
    }
}

/// Sets headers of responses, see [`SecurityHeadersLayer`].
#[derive(Debug, Clone)]
pub struct SecurityHeaders<S> {
    inner: S,
    headers: Arc<HeaderMap>,
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
        let headers = Arc::clone(&self.headers);
        SecurityHeadersFuture { inner: self.inner.call(request), headers }
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
        headers: Arc<HeaderMap>,
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
        // A copy that the response's own few headers are put into is cheaper than six inserts.
        let own = std::mem::replace(response.headers_mut(), HeaderMap::clone(this.headers));
        response.headers_mut().extend(own);
        Poll::Ready(Ok(response))
    }
}

impl<F> fmt::Debug for SecurityHeadersFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecurityHeadersFuture")
    }
}
