//! A server in one call.

use std::net::{Ipv4Addr, SocketAddr};

use trunkline_server::server::{ServeError, Server, ServerHandle};

use crate::router::Router;

/// The configuration of [`create_server`].
#[derive(Debug, Default)]
pub struct Config {
    /// The port on 127.0.0.1. 0 selects a free port.
    pub port: u16,
    /// The methods.
    pub handlers: Router,
}

/// Starts a server on 127.0.0.1.
///
/// ```
/// # use trunkline::{Router, server::{Config, create_server}};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let handlers = Router::new().method("ping", || "pong");
/// let server = create_server(Config { port: 0, handlers }).await?;
/// assert_eq!(server.status().in_flight, 0);
/// server.stop().await;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the router cannot be built, or the port cannot be bound.
pub async fn create_server(config: Config) -> Result<ServerHandle, ServeError> {
    let rpc = config.handlers.build()?;
    Server::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, config.port))).serve(rpc).await
}
