//! A server with the tools, resources and prompts that the protocol's official conformance suite calls by name.
//!
//! ```console
//! $ cargo run -p trunkline-mcp --example conformance_server -- --listen 127.0.0.1:3000
//! ```
//!
//! With `--stdio`, it serves the process that has started it.

#![expect(clippy::print_stdout, reason = "the caller reads the address")]

mod changes;
mod prompts;
mod requests;
mod resources;
mod tasks;
mod tools;
mod waits;

use std::io::{stdin, stdout};

use clap::Parser;
use tokio_util::sync::CancellationToken;
use trunkline::server::shutdown_signal;
use trunkline::{DynamicOperations, Router, Server};
use trunkline_mcp::{Mcp, McpConfig};

#[derive(Parser)]
struct Line {
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1:3000")]
    listen: String,
    /// Serve one client on stdin and stdout instead.
    #[arg(long)]
    stdio: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let line = Line::parse();
    let dynamic = DynamicOperations::new();
    let served = changes::Served::default();
    let rpc = Router::new()
        .nest("test", tools::tools())
        .nest("resource", resources::resources())
        .nest("prompt", prompts::prompts())
        .nest("requests", requests::tools())
        .nest("rounds", requests::round_trips())
        .nest("changes", changes::tools(&dynamic, &served))
        .nest("waits", waits::tools())
        .nest("tasks", tasks::tools())
        .dynamic("dynamic", &dynamic)
        .build()?;
    let mcp = Mcp::new(rpc, McpConfig::new("conformance-server", env!("CARGO_PKG_VERSION")))?;
    let mcp = served.get_or_init(|| mcp);
    if line.stdio {
        return Ok(mcp.serve_stdio(stdin(), stdout(), CancellationToken::new()).await?);
    }
    let service = mcp.rpc().http().merge(mcp.routes()).merge(mcp.sse_routes());
    let server = Server::bind(&line.listen).serve(service).await?;
    println!("listening http://{}/mcp", server.local_addr());
    shutdown_signal()?.await;
    server.stop().await;
    Ok(())
}

/// One red pixel.
pub(crate) const PNG: [u8; 69] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, 0x49, 0x44, 0x41, 0x54,
    0x78, 0xda, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 0x03, 0x01, 0x01, 0, 0xf7, 0x03, 0x41, 0x43, 0, 0, 0,
    0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];
