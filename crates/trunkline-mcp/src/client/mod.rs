//! An MCP client over Streamable HTTP, HTTP+SSE and stdio.
//!
//! It supports servers of both eras: those of 2026-07-28, which are stateless, and those of the earlier
//! revisions, which open with `initialize`. [`Client::connect`] finds out which; the methods are the same for both.
//!
//! ```
//! # use trunkline::{JsonSchema, Operation, Params, Router, Server};
//! # use trunkline_mcp::{Mcp, McpConfig};
//! # #[derive(serde::Deserialize, JsonSchema)]
//! # #[schemars(crate = "trunkline::schemars")]
//! # struct Add { a: i64, b: i64 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let add = Operation::new("math.add", |Params(Add { a, b })| a + b).input::<Add>().tool("add");
//! # let mcp = Mcp::new(Router::new().operation(add).build()?, McpConfig::new("sums", "1.0.0"))?;
//! # let server = Server::bind("127.0.0.1:0").serve(mcp.rpc().http().merge(mcp.routes())).await?;
//! # let url = format!("http://{}/mcp", server.local_addr());
//! use serde_json::value::to_raw_value;
//! use trunkline::client::Http;
//! use trunkline_mcp::client::{Client, McpClientConfig};
//!
//! let client = Client::connect(Http::connect(&url)?, McpClientConfig::new("docs", "1.0.0")).await?;
//! let list = client.list_tools().await?;
//! let arguments = to_raw_value(&serde_json::json!({ "a": 40, "b": 2 }))?;
//! let result = client.call_tool(&list.items[0], &arguments).await?;
//! assert_eq!(result.structured_content.as_ref().unwrap().get(), "42");
//! client.close().await;
//! # server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! | item | section of the specification |
//! |---|---|
//! | [`Client::connect`], [`EraCache`] | Versioning; Lifecycle; Transports, "Backward Compatibility" |
//! | [`Transport`], [`StdioConfig`] | Transports |
//! | [`Client::list_tools`], [`call_tool`](Client::call_tool), [`Tool`](crate::tools::Tool), [`ToolResult`](crate::tools::ToolResult) | Tools |
//! | [`Client::list_resources`], [`read_resource`](Client::read_resource), [`subscribe`](Client::subscribe) | Resources; Subscriptions |
//! | [`Client::list_prompts`], [`get_prompt`](Client::get_prompt), [`complete`](Client::complete) | Prompts; Completion |
//! | [`List`], [`Client::tool_pages`] | Pagination |
//! | [`CallOptions`] | Progress; Cancellation; Logging |
//! | [`ClientHandler`] | Elicitation; Sampling; Roots; Multi Round-Trip Requests |
//! | [`Task`], [`Client::start_tool`] | Tasks (extension) |
//! | [`Authorization`], `oauth` | Authorization |
//! | [`McpClientConfig::cache_bytes`] | Caching |
//!
//! All limits, with their defaults, are fields of [`McpClientConfig`].

mod authorization;
mod cache;
mod callback;
mod channel;
#[expect(clippy::module_inception, reason = "the file of the type with the name of the module")]
mod client;
mod config;
mod connection;
mod core;
mod error;
mod handler;
mod http_endpoint;
mod http_link;
mod inbox;
mod input;
mod last_lines;
mod link;
mod list;
mod listener;
mod message;
mod negotiation;
#[cfg(feature = "oauth")]
pub mod oauth;
mod options;
mod pending;
mod process_group;
mod prompt;
mod request;
mod resource;
mod server_task;
mod session;
mod session_loss;
mod sse;
mod stdio;
mod tool;
mod transport;

pub use self::authorization::{Authorization, AuthorizationError, Challenge};
pub use self::callback::{Callback, ProgressCallback};
pub use self::client::Client;
pub use self::config::{EraCache, McpClientConfig};
pub use self::error::{Error, RequestError};
pub use self::handler::{Change, ClientHandler, HandlerError, HandlerFeatures};
pub use self::last_lines::LastLines;
pub use self::list::List;
pub use self::options::CallOptions;
pub use self::server_task::{Task, TaskCallback, TaskInfo, TaskStatus};
pub use self::session::{ServerCapabilities, ServerInfo};
pub use self::stdio::StdioConfig;
pub use self::tool::StartedTool;
pub use self::transport::Transport;
pub use crate::model::{LogMessage, ProgressUpdate};
