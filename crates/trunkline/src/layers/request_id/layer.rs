use tower::Layer;

use super::RequestId;

/// Gives each request an id: the client's `X-Request-Id`, if there is exactly one, of 1 to 128
/// letters, digits and `-_.:/+=@~`; else 32 random hexadecimal digits. It wraps HTTP services: a
/// [`HttpService`](crate::http::HttpService), an axum router.
///
/// The id stands in the request's header, where handlers find it with
/// [`Headers`](crate::http::Headers); in the [span](super::super::trace) of each call, as
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
