//! The Model Context Protocol over the operations of a [`trunkline::Rpc`].
//!
//! Operations with a tool name ([`trunkline::Operation::tool`]) are listed by `tools/list` and called by
//! `tools/call`. Both eras of the protocol are supported at once: the revisions 2024-11-05 to 2025-11-25, which open
//! with `initialize`, and the stateless 2026-07-28. Each request shows which era it belongs to. [`McpOperation`] offers
//! operations as resources, prompts and completions.
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
//! // JSON-RPC at `/`, including MCP's methods, and MCP at `/mcp`.
//! let service = mcp.rpc().http().merge(mcp.routes());
//! # let server = trunkline::Server::bind("127.0.0.1:0").serve(service).await?;
//! # server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! | endpoint | protocol |
//! |---|---|
//! | [`Mcp::rpc`] | JSON-RPC, with MCP's methods in addition to the operations |
//! | [`Mcp::routes`] | Streamable HTTP |
//! | [`Mcp::sse_routes`] | HTTP+SSE, the transport of 2024-11-05 |
//! | [`Mcp::serve_stdio`] | stdio: one message per line |
//!
//! Handlers can send requests to their client, whatever its revision: see [`Peer`].
//!
//! [`client`] is a client of MCP servers over Streamable HTTP, HTTP+SSE and stdio.
//!
//! A tool that fails, or that is called with invalid arguments, returns a *result* with `isError` and a message that
//! helps a model to correct its call. A message that violates the protocol is answered with an error.

#![forbid(unsafe_code)]

#[macro_use]
mod debug;

mod arguments;
mod batch;
mod call_progress;
mod capabilities;
mod changes;
mod channel;
pub mod client;
mod client_info;
mod completion;
mod config;
mod confirm;
mod endpoint;
mod era;
mod error;
mod events;
mod fault;
mod incoming;
mod lock;
mod log_level;
mod message_queue;
mod model;
mod name;
mod node_message;
pub mod nodes;
mod notify;
mod on_drop;
mod operation;
mod param_headers;
mod peer;
mod percent;
mod prompt;
mod protocol;
mod request;
mod resource;
mod running;
mod server;
mod session;
mod session_refusal;
pub mod spans;
mod sse;
mod stdio;
mod subscription;
mod task;
mod task_group;
mod tool;

pub use capabilities::{ClientCapabilities, MissingCapability};
pub use changes::ChangedResource;
pub use completion::{Completion, CompletionParams};
pub use config::McpConfig;
pub use confirm::ConfirmLayer;
pub use error::McpError;
pub use log_level::LogLevel;
pub use model::{
    Annotations, Block, BlockKind, CompletionTarget, CompletionValues, Contents,
    CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult, Icon, InputRequest,
    Prompt, PromptArgument, PromptMessage, PromptResult, Received, Resource, ResourceContents,
    ResourceData, ResourceTemplate, Role, Root, Theme,
};
pub use notify::{Log, Progress};
pub use operation::McpOperation;
pub use peer::{Peer, PeerError, StateKey};
pub use resource::{ResourcePage, ResourceUri};
pub use server::Mcp;
pub use subscription::{Notifier, SubscribedResource, SubscriptionFuture};
pub use task::{InMemoryTasks, TaskConfig, TaskStore, TaskSupport};

/// Tools in lists, and their results.
pub mod tools {
    pub use crate::model::{Tool, ToolAnnotations, ToolResult};
    pub use crate::tool::{ClientResults, Results, ToolError, model_input};
}

/// URIs of resources and their templates.
pub mod uri {
    pub use crate::resource::{
        check_resource, check_resource_template, uri_text, uri_value, uri_variables,
    };
}

/// The types in the interface of [`TaskStore`].
pub mod task_store {
    pub use crate::model::TaskState;
    pub use crate::task::{StoreFuture, TaskQuota, TaskRecord, TaskStoreError};
}

/// The README, and the pages of the documentation that have code of this crate.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;

    #[doc = include_str!("../../../docs/guides/axum.md")]
    struct Axum;

    #[doc = include_str!("../../../docs/reference/mcp.md")]
    struct Reference;

    #[doc = include_str!("../../../docs/reference/mcp-client.md")]
    struct ClientReference;

    #[cfg(feature = "oauth")]
    #[doc = include_str!("../../../docs/reference/oauth.md")]
    struct OAuthReference;

    #[doc = include_str!("../../../docs/guides/mcp-server.md")]
    struct Guide;
}
