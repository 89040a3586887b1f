use axum::routing::get;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use trunkline_server::http::Routes;

use crate::layers::metrics::{MEDIA_TYPE, text};
use crate::rpc::Rpc;

/// `GET /metrics`: the metrics of the methods of `rpc`, for Prometheus.
///
/// ```
/// # use trunkline::{Router, layers::metrics};
/// # fn main() -> Result<(), trunkline::BuildError> {
/// # let rpc = Router::new().method("ping", || "pong").build()?;
/// let service = rpc.http().merge(metrics::routes(&rpc));
/// # Ok(())
/// # }
/// ```
pub fn routes(rpc: &Rpc) -> Routes {
    routes_with(rpc, String::new)
}

/// Like [`routes`], with further metrics in the same format.
pub fn routes_with(rpc: &Rpc, more: impl Fn() -> String + Clone + Send + Sync + 'static) -> Routes {
    let rpc = rpc.clone();
    let media_type = [(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))];
    let exposition = async move || (media_type, text(&rpc.metrics()) + &more());
    Routes::new("metrics", axum::Router::new().route("/metrics", get(exposition)))
}
