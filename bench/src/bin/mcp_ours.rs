//! 100 tools of trunkline with its documented setup: all default layers, checks and limits are enabled, and arguments
//! are validated against the tool's schema.

use std::net::SocketAddr;

use anyhow::Result;
use trunkline::{Json, Operation, Params, Router, Server};
use trunkline_bench::{Add, Sum, announce, tool_names};
use trunkline_mcp::{Mcp, McpConfig};

fn main() -> Result<()> {
    trunkline_bench::run(serve)
}

async fn serve(address: SocketAddr) -> Result<()> {
    let tools = tool_names().map(|name| add(&name));
    let rpc = tools.fold(Router::new(), Router::operation).build()?;
    let mcp = Mcp::new(rpc, McpConfig::new("bench", "1.0.0"))?;
    let service = mcp.rpc().http().merge(mcp.routes());
    let server = Server::bind(address).serve(service).await?;
    announce(server.local_addr());
    server.stopped().await;
    Ok(())
}

fn add(tool: &str) -> Operation {
    Operation::new(format!("math.{tool}"), |Params(Add { a, b })| Json(Sum { sum: a + b }))
        .description("Adds two numbers.")
        .input::<Add>()
        .output::<Sum>()
        .read_only()
        .tool(tool)
}
