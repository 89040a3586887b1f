//! Servers in this process, on a free port.

use std::time::Duration;

use trunkline::http::{self, HttpService};
use trunkline::{CancellationToken, Router, Rpc, Server, ServerHandle};
use trunkline_mcp::{Mcp, McpConfig};

use super::{Client, Gate, offers, router};

/// A server with all endpoints, the gate of its tools, and the token that ends its streams.
pub(crate) struct TestServer {
    pub(crate) handle: ServerHandle,
    pub(crate) rpc: Rpc,
    pub(crate) gate: Gate,
    pub(crate) closing: CancellationToken,
}

pub(crate) fn settings() -> McpConfig {
    McpConfig {
        title: Some("Tests".to_owned()),
        instructions: Some("Call the tools.".to_owned()),
        drain_timeout: Duration::from_secs(5),
        ..McpConfig::new("test-server", "1.2.3")
    }
}

/// Serves the tools at `/`, `/mcp`, `/sse` and `/messages`.
pub(crate) async fn serve(settings: McpConfig, http: http::HttpConfig) -> TestServer {
    serve_with(settings, http, router).await.1
}

/// Serves other tools.
pub(crate) async fn serve_router(settings: McpConfig, tools: fn(&Gate) -> Router) -> TestServer {
    serve_with(settings, http::HttpConfig::default(), tools).await.1
}

/// Serves the tools like [`serve`], and returns the MCP server, too.
pub(crate) async fn serve_mcp(settings: McpConfig) -> (Mcp, TestServer) {
    serve_with(settings, http::HttpConfig::default(), router).await
}

async fn serve_with(
    settings: McpConfig,
    http: http::HttpConfig,
    tools: fn(&Gate) -> Router,
) -> (Mcp, TestServer) {
    let gate = Gate::new();
    let rpc = tools(&gate).merge(offers()).build().unwrap();
    let closing = settings.closing.clone();
    let mcp = Mcp::new(rpc.clone(), settings).unwrap();
    let service: HttpService = mcp.rpc().http_with(http);
    let service = service.merge(mcp.routes()).merge(mcp.sse_routes());
    let handle = Server::bind("127.0.0.1:0").serve(service).await.unwrap();
    (mcp, TestServer { handle, rpc, gate, closing })
}

impl TestServer {
    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.handle.local_addr()).await
    }
}
