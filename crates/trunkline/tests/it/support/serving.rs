//! Servers in this process, on a free port.

use trunkline::Limits;
use trunkline::http::{self, HttpService};
use trunkline::server::{self, Server, ServerHandle};

/// The methods of the protocol cases.
#[path = "../../../examples/spec_server/service.rs"]
pub(crate) mod service;

/// A configuration with the path of the protocol cases.
pub(crate) fn on_loopback() -> http::HttpConfig {
    http::HttpConfig { paths: vec!["/".to_owned()], ..Default::default() }
}

/// Serves the methods of the protocol cases.
pub(crate) async fn serve(http: http::HttpConfig) -> ServerHandle {
    let rpc = service::router(Limits::default()).build().unwrap();
    serve_with(rpc.http_with(http), server::ServerConfig::default()).await
}

pub(crate) async fn serve_with(
    service: impl Into<HttpService>,
    settings: server::ServerConfig,
) -> ServerHandle {
    Server::bind("127.0.0.1:0").settings(settings).serve(service).await.unwrap()
}
