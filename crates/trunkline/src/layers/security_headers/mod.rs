//! Headers that keep browsers from doing more with a response than it is meant for.

mod future;
mod layer;

use std::task::{Context, Poll};

use http::{HeaderValue, Request, Response};
use tower::Service;

pub use future::SecurityHeadersFuture;
pub use layer::SecurityHeadersLayer;

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
