//! The listener of the server.

use std::io;
use std::net::SocketAddr;

use anyhow::Context;
use trunkline::http::HttpService;
use trunkline::server::{ServeError, Server, ServerConfig, ServerHandle, Tls};

/// Starts the server on the first of the addresses that can be bound.
pub(super) async fn start(
    addresses: &[SocketAddr],
    tls: Option<Tls>,
    settings: ServerConfig,
    service: impl Fn() -> HttpService,
) -> anyhow::Result<(ServerHandle, HttpService)> {
    let server = |address: &SocketAddr| {
        let server = Server::bind(address).settings(settings.clone());
        match &tls {
            Some(tls) => server.tls(tls.clone()),
            None => server,
        }
    };
    let (last, others) =
        addresses.split_last().context("the address to listen on has no IP address")?;
    for address in others {
        let service = service();
        match server(address).serve(service.clone()).await {
            Ok(server) => return Ok((server, service)),
            Err(error) => {
                tracing::debug!(%address, %error, "cannot listen; trying the next address");
            }
        }
    }
    let service = service();
    let server =
        server(last).serve(service.clone()).await.map_err(|error| with_remedy(error, "--port"))?;
    Ok((server, service))
}

/// The error for an address of a flag that cannot be bound, with a remedy for the usual causes.
pub(super) fn with_remedy(error: ServeError, flag: &str) -> anyhow::Error {
    let ServeError::Bind { address, source } = error else { return error.into() };
    let remedy = match source.kind() {
        io::ErrorKind::AddrInUse => {
            format!("; another program uses the port: stop it, or choose another port with {flag}")
        }
        io::ErrorKind::AddrNotAvailable => "; the address does not belong to this machine".into(),
        io::ErrorKind::PermissionDenied => {
            format!("; ports below 1024 require privileges: choose another port with {flag}")
        }
        _ => String::new(),
    };
    anyhow::Error::new(source).context(format!("cannot listen on {address}{remedy}"))
}
