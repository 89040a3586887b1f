//! jsonrpsee with its documented setup, except for the number of connections.

use std::net::SocketAddr;

use anyhow::Result;
use jsonrpsee::server::{ServerBuilder, ServerConfig};
use trunkline_bench::{announce, jsonrpsee_module};

/// More connections than any measurement opens. The default is 100.
const CONNECTIONS: u32 = 20_000;

fn main() -> Result<()> {
    trunkline_bench::run(serve)
}

async fn serve(address: SocketAddr) -> Result<()> {
    let config =
        ServerConfig::builder().set_tcp_no_delay(true).max_connections(CONNECTIONS).build();
    let server = ServerBuilder::with_config(config).build(address).await?;
    let address = server.local_addr()?;
    let handle = server.start(jsonrpsee_module()?);
    announce(address);
    handle.stopped().await;
    Ok(())
}
