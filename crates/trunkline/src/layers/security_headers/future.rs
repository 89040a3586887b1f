use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderValue, Response};

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
    pub(super) fn new(inner: F, strict_transport: Option<HeaderValue>) -> Self {
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
