use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Response};

use crate::http::{Door, DoorFuture, DoorRequest, ReplyBody};
use crate::layers::metrics::{MEDIA_TYPE, text};
use crate::rpc::Rpc;

/// `GET /metrics`: what is counted of the methods of `rpc`, for Prometheus. It is behind the same
/// guards as calls; see [`HttpService::door`](crate::http::HttpService::door).
///
/// ```
/// # use trunkline::{Router, layers::metrics};
/// # fn main() -> Result<(), trunkline::BuildError> {
/// # let rpc = Router::new().method("ping", || "pong").build()?;
/// let service = rpc.http().door(metrics::door(&rpc));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn door(rpc: &Rpc) -> Arc<dyn Door> {
    Arc::new(Exposition(rpc.clone()))
}

struct Exposition(Rpc);

impl Door for Exposition {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn paths(&self) -> &[(&'static str, &'static [Method])] {
        &[("/metrics", &[Method::GET])]
    }

    fn answer(&self, _request: DoorRequest) -> DoorFuture<'_> {
        let text = text(&self.0.metrics()).into_bytes();
        let mut response = Response::new(ReplyBody::from(text));
        let media_type = HeaderValue::from_static(MEDIA_TYPE);
        response.headers_mut().insert(CONTENT_TYPE, media_type);
        Box::pin(std::future::ready(response))
    }
}
