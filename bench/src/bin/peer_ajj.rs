//! ajj on axum with its documented setup.

use std::net::SocketAddr;

use ajj::Router;
use anyhow::Result;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use trunkline_bench::{Add, announce};

fn main() -> Result<()> {
    trunkline_bench::run(serve)
}

async fn serve(address: SocketAddr) -> Result<()> {
    let router = Router::<()>::new()
        .route("add", |add: Add| async move { Ok::<_, ()>(add.a + add.b) })
        .route("sum", |numbers: Vec<i64>| async move { Ok::<_, ()>(numbers.iter().sum::<i64>()) })
        .with_state::<()>(());
    let listener = TcpListener::bind(address).await?;
    announce(listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        // Fails only if the option is not supported, which would make the connection slower.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router.into_axum("/")).await?;
    Ok(())
}
