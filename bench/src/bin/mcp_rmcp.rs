//! 100 tools of rmcp, the official Rust SDK, with its fastest setup: no sessions, JSON replies, and a shared router of
//! tools.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use anyhow::Result;
use axum::serve::ListenerExt;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Json, ServerHandler, tool, tool_handler, tool_router};
use tokio::net::TcpListener;
use trunkline_bench::{Add, Sum, announce, tool_names};

static TOOLS: LazyLock<ToolRouter<Calculator>> = LazyLock::new(|| {
    let mut router = Calculator::tool_router();
    let add = router.map["add"].clone();
    for name in tool_names().skip(1) {
        let mut route = add.clone();
        route.attr.name = name.into();
        router.add_route(route);
    }
    router
});

#[derive(Clone)]
struct Calculator;

#[tool_router]
impl Calculator {
    #[tool(description = "Adds two numbers.", annotations(read_only_hint = true))]
    fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> Json<Sum> {
        Json(Sum { sum: a + b })
    }
}

#[tool_handler(router = TOOLS)]
impl ServerHandler for Calculator {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

fn main() -> Result<()> {
    trunkline_bench::run(serve)
}

async fn serve(address: SocketAddr) -> Result<()> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None);
    let sessions = Arc::new(NeverSessionManager::default());
    let mcp = StreamableHttpService::new(|| Ok(Calculator), sessions, config);
    let listener = TcpListener::bind(address).await?;
    announce(listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        // Fails only if the option is not supported, which would make the connection slower.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, axum::Router::new().route_service("/mcp", mcp)).await?;
    Ok(())
}
