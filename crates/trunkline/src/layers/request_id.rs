//! A name for each HTTP request, by which client and server find it in their logs.

use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::header::{HeaderMap, HeaderName};
use http::{HeaderValue, Request, Response};
use tower::{Layer, Service};

/// Gives each request an id: the client's `X-Request-Id`, if there is exactly one, of 1 to 128
/// letters, digits and `-_.:/+=@~`; else 32 random hexadecimal digits. It wraps HTTP services: a
/// [`HttpService`](crate::http::HttpService), an axum router.
///
/// The id stands in the request's header, where handlers find it with
/// [`Headers`](crate::http::Headers); in the [span](crate::layers::trace) of each call, as
/// `http.request.id`; and in the response's header.
///
/// ```
/// # use tower::Layer;
/// # use trunkline::{Router, layers::RequestIdLayer};
/// # fn main() -> Result<(), trunkline::BuildError> {
/// # let rpc = Router::new().method("ping", || "pong").build()?;
/// let service = RequestIdLayer::new().layer(rpc.http());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestIdLayer(());

impl RequestIdLayer {
    /// An id for each request.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S> Layer<S> for RequestIdLayer {
    type Service = RequestId<S>;

    fn layer(&self, inner: S) -> RequestId<S> {
        RequestId { inner }
    }
}

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The most characters that an id may have which a client has chosen: it is written to logs.
const MAX_LENGTH: usize = 128;

/// Gives each request an id, see [`RequestIdLayer`].
#[derive(Debug, Clone)]
pub struct RequestId<S> {
    inner: S,
}

impl<S, B, R> Service<Request<B>> for RequestId<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = RequestIdFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let headers = request.headers_mut();
        let id = sent(headers).cloned().or_else(made);
        if let Some(id) = id.clone() {
            headers.insert(X_REQUEST_ID, id);
        }
        RequestIdFuture::new(self.inner.call(request), id)
    }
}

/// The id that the client has chosen, if it is one that logs can take.
fn sent(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut sent = headers.get_all(X_REQUEST_ID).iter();
    let id = sent.next().filter(|_| sent.next().is_none())?;
    let is_sane = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@~".contains(byte);
    let is_short = (1..=MAX_LENGTH).contains(&id.len());
    (is_short && id.as_bytes().iter().all(is_sane)).then_some(id)
}

/// 32 random hexadecimal digits.
fn made() -> Option<HeaderValue> {
    let random = || RandomState::new().hash_one(0_u8);
    let mut bytes = u128::from(random()) << 64 | u128::from(random());
    let digits = [(); 32].map(|()| {
        let digit = b"0123456789abcdef"[(bytes & 0xf) as usize];
        bytes >>= 4;
        digit
    });
    HeaderValue::from_bytes(&digits).ok()
}

pin_project_lite::pin_project! {
    /// The future of a response to a request with an id.
    pub struct RequestIdFuture<F> {
        #[pin]
        inner: F,
        id: Option<HeaderValue>,
    }
}

impl<F> RequestIdFuture<F> {
    fn new(inner: F, id: Option<HeaderValue>) -> Self {
        Self { inner, id }
    }
}

impl<F, R, E> Future for RequestIdFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = ready!(this.inner.poll(cx))?;
        if let Some(id) = this.id.take() {
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
        Poll::Ready(Ok(response))
    }
}

impl<F> fmt::Debug for RequestIdFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestIdFuture").field("id", &self.id).finish_non_exhaustive()
    }
}
