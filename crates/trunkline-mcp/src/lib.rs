//! The Model Context Protocol over the operations of a [`trunkline::Rpc`].
//!
//! Operations that are named as tools ([`trunkline::Operation::tool`]) are listed by `tools/list` and
//! called by `tools/call`. Both eras of the protocol are spoken at once: the revisions 2024-11-05 to
//! 2025-11-25, which open with `initialize`, and 2026-07-28, whose requests say for themselves what
//! they are. Which one it is, each request tells.
//!
//! ```
//! use trunkline::{ErrorObject, JsonSchema, Operation, Params, Router};
//! use trunkline_mcp::{Mcp, McpConfig};
//!
//! #[derive(serde::Deserialize, JsonSchema)]
//! #[schemars(crate = "trunkline::schemars")]
//! struct Add { a: i64, b: i64 }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let add = Operation::new("math.add", |Params(Add { a, b })| a + b)
//!     .description("Adds two numbers.")
//!     .input::<Add>()
//!     .output::<i64>()
//!     .read_only()
//!     .tool("add");
//! let rpc = Router::new().operation(add).build()?;
//! let mcp = Mcp::new(rpc, McpConfig::new("sums", "1.0.0"))?;
//!
//! // JSON-RPC at `/`, which answers MCP's methods as well, and MCP at `/mcp`.
//! let service = mcp.rpc().http().merge(mcp.routes());
//! # let server = trunkline::Server::bind("127.0.0.1:0").serve(service).await?;
//! # server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! | endpoint | protocol |
//! |---|---|
//! | [`Mcp::rpc`] | JSON-RPC, with MCP's methods besides the operations' |
//! | [`Mcp::routes`] | Streamable HTTP, without sessions |
//! | [`Mcp::sse_routes`] | HTTP+SSE, the transport of 2024-11-05 |
//! | [`Mcp::serve_stdio`] | one message a line |
//!
//! [`client`] calls the tools of servers over Streamable HTTP.
//!
//! A tool that fails, or is given arguments that do not fit its schema, has a *result* that says so
//! (`isError`), in words that help a model to mend its call. What the protocol refuses is an error.

#![forbid(unsafe_code)]

mod audience;
mod batch;
mod block;
mod capabilities;
mod channel;
pub mod client;
mod config;
mod endpoint;
mod era;
mod events;
mod fault;
mod log_level;
mod notify;
mod param_headers;
mod protocol;
mod request;
mod running;
mod server;
mod sse;
mod stdio;
mod tool;

pub use block::{Block, Resource};
pub use capabilities::{ClientCapabilities, MissingCapability};
pub use config::McpConfig;
pub use log_level::LogLevel;
pub use notify::{Log, Progress};
pub use server::Mcp;
pub use tool::ToolError;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/mcp.md")]
struct Chapter;
