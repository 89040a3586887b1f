//! The common parts of the two servers whose instructions the gate counts: trunkline, and axum with serde.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use schemars::JsonSchema;
use serde::Deserialize;
use trunkline::{Params, Router, Rpc, VariadicParams};

/// The params of `add`. Serde deserialises structs from objects and arrays, so both forms work.
#[derive(Deserialize, JsonSchema)]
pub struct Add {
    pub a: i64,
    pub b: i64,
}

#[derive(Deserialize)]
struct Sum {
    numbers: Vec<i64>,
}

/// Runs a server on the address of `--listen ADDR`, on a runtime with one worker.
pub fn run(server: impl AsyncFnOnce(SocketAddr) -> Result<()>) -> Result<()> {
    let address = listen_address()?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?
        .block_on(server(address))
}

/// Prints the address for the harness. Call it when connections are accepted.
pub fn announce(address: SocketAddr) {
    println!("listening on http://{address}");
}

fn listen_address() -> Result<SocketAddr> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--listen", address] => address
            .parse()
            .with_context(|| format!("`{address}` is not an address like 127.0.0.1:0")),
        _ => bail!("usage: --listen ADDR"),
    }
}

/// The methods for trunkline, for all uses.
pub fn trunkline_rpc() -> Result<Rpc> {
    Ok(trunkline_router().build()?)
}

/// The methods for trunkline, as a router for other settings.
pub fn trunkline_router() -> Router {
    Router::new()
        .method("add", |Params(Add { a, b }): Params<Add>| a + b)
        .method("sum", |VariadicParams(Sum { numbers }): VariadicParams<Sum>| {
            numbers.iter().sum::<i64>()
        })
}
