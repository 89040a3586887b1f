//! A client of JSON-RPC 2.0 over HTTP, and of MCP on top of it. It knows no command line.

mod http;
mod mcp;
mod members;
mod response;
mod rpc;
mod sse;
mod url;

pub(crate) use self::http::{Http, Settings, TransportError};
pub(crate) use self::mcp::{Content, Mcp, McpError, Property, Tool, ToolAnswer, Tools};
pub(crate) use self::members::Members;
pub(crate) use self::rpc::{Accept, CallError, ProtocolError, Rpc, RpcError};
pub(crate) use self::url::Url;
