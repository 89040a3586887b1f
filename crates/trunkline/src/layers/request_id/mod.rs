//! A name for each HTTP request, by which client and server find it in their logs.

mod future;
mod layer;

use std::hash::{BuildHasher, RandomState};
use std::task::{Context, Poll};

use http::header::{HeaderMap, HeaderName};
use http::{HeaderValue, Request, Response};
use tower::Service;

pub use future::RequestIdFuture;
pub use layer::RequestIdLayer;

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

/// 32 hexadecimal digits.
fn made() -> Option<HeaderValue> {
    let random = || RandomState::new().hash_one(0_u8);
    HeaderValue::try_from(format!("{:016x}{:016x}", random(), random())).ok()
}
