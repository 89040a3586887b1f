use axum::routing::get;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};
use trunkline_server::http::Routes;

use crate::exposition::{Exposition, MEDIA_TYPE};
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
    routes_with(rpc, |_| {})
}

/// The same, with the metrics that `add` adds to each reply. It must not block.
///
/// ```
/// # use trunkline::{Router, layers::metrics};
/// # fn main() -> Result<(), trunkline::BuildError> {
/// # let rpc = Router::new().method("ping", || "pong").build()?;
/// let service = rpc.http().merge(metrics::routes_with(&rpc, |metrics| {
///     metrics.gauge("queue_bytes", "Bytes in the queue.", [(&[][..], 42.0)]);
/// }));
/// # Ok(())
/// # }
/// ```
pub fn routes_with(
    rpc: &Rpc,
    add: impl Fn(&mut Exposition) + Clone + Send + Sync + 'static,
) -> Routes {
    let rpc = rpc.clone();
    let exposition = async move || page(&rpc, add);
    Routes::new("metrics", axum::Router::new().route("/metrics", get(exposition)))
}

/// The response of these routes, for a router of another server, such as one at a port for scrapers.
pub fn page(
    rpc: &Rpc,
    add: impl FnOnce(&mut Exposition),
) -> ([(HeaderName, HeaderValue); 1], String) {
    let mut text = Exposition::default();
    text.methods(&rpc.metrics());
    add(&mut text);
    ([(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))], text.into_text())
}
