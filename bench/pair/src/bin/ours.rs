//! trunkline with its documented setup: all default layers, checks and limits are enabled.

use std::net::SocketAddr;

use anyhow::Result;
use trunkline::Server;
use trunkline_bench_pair::{announce, trunkline_rpc};

fn main() -> Result<()> {
    trunkline_bench_pair::run(serve)
}

async fn serve(address: SocketAddr) -> Result<()> {
    let server = Server::bind(address).serve(trunkline_rpc()?).await?;
    announce(server.local_addr());
    server.stopped().await;
    Ok(())
}
