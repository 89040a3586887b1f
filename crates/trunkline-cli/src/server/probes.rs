//! The listener of probes and scrapers: `--health-listen`.
//!
//! It serves the health pages and the metrics, and nothing else, without a token, TLS and a check of the host: probes and
//! scrapers use the address of a pod or container, and have no credentials.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use http::StatusCode;
use trunkline::layers::metrics;
use trunkline::server::{Server, ServerConfig};
use trunkline::{Rpc, ServerHandle};

use super::gauges::Gauges;
use super::listener;

/// The maximum number of connections.
const CONNECTIONS: usize = 256;

/// The maximum time for requests to end when the server has stopped.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Starts the listener on the first of the addresses that can be bound. It reports the state of `server`, also while
/// that finishes its calls.
pub(super) async fn start(
    addresses: &[SocketAddr],
    server: &ServerHandle,
    rpc: &Rpc,
    gauges: &Gauges,
) -> anyhow::Result<ServerHandle> {
    let routes = routes(server, rpc, gauges);
    let settings = ServerConfig {
        connections: CONNECTIONS,
        drain_timeout: DRAIN_TIMEOUT,
        ..ServerConfig::default()
    };
    let mut failed = None;
    for address in addresses {
        let server = Server::bind(address).settings(settings.clone());
        match server.serve_http(routes.clone()).await {
            Ok(server) => return Ok(server),
            Err(error) => failed = Some(error),
        }
    }
    Err(match failed {
        Some(error) => listener::with_remedy(error, "--health-listen"),
        None => anyhow::anyhow!("the address of --health-listen has no IP address"),
    })
}

fn routes(server: &ServerHandle, rpc: &Rpc, gauges: &Gauges) -> Router {
    let exposition = {
        let (rpc, gauges) = (rpc.clone(), gauges.clone());
        async move || metrics::page(&rpc, |metrics| gauges.add(metrics))
    };
    server
        .health_routes()
        .route("/metrics", get(exposition.clone()))
        .route("/metrics/", get(exposition))
        .fallback(missing)
}

async fn missing() -> (StatusCode, &'static str) {
    const TEXT: &str =
        "this listener serves /health, /health/live, /health/ready and /metrics only\n";
    (StatusCode::NOT_FOUND, TEXT)
}
