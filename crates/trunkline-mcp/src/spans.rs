//! The spans of requests, and the names of their attributes.

use tracing::field::Empty;
use tracing::{Level, Span, span};
use trunkline::Extensions;
use trunkline::protocol::spans::{CallAttributes, CallSpan, TARGET, Work, attribute as common};
use trunkline::protocol::{TraceContext, call_span};

use attribute as a;

/// The name of the span of a request that calls no operation, such as `tools/list`. Other requests have the span of a call,
/// with further attributes.
pub const NAME: &str = "mcp";

/// The names of attributes.
pub mod attribute {
    /// The transport: `tcp`, `pipe` or `unix`.
    pub const TRANSPORT: &str = "network.transport";
    /// The method of MCP.
    pub const METHOD: &str = "mcp.method.name";
    /// The revision of MCP.
    pub const VERSION: &str = "mcp.protocol.version";
    /// The name that a client of MCP gives of itself.
    pub const CLIENT: &str = "mcp.client.name";
    /// The version that a client of MCP gives of itself.
    pub const CLIENT_VERSION: &str = "mcp.client.version";
    /// A digest of the id of the session of MCP, which is a credential.
    pub const SESSION: &str = "mcp.session.id";
    /// The operation of a model: [`EXECUTE_TOOL`](super::EXECUTE_TOOL) for calls of tools.
    pub const GEN_AI_OPERATION: &str = "gen_ai.operation.name";
    /// The name of a tool.
    pub const GEN_AI_TOOL: &str = "gen_ai.tool.name";
}

/// The value of [`attribute::GEN_AI_OPERATION`] for calls of tools.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// The class of an error of a tool whose result is an error for the model.
const TOOL_ERROR: &str = "tool_error";

const JSON_RPC: &str = "jsonrpc";

/// The attributes of a request, an extension of the call that it becomes.
#[derive(Debug, Clone)]
pub(crate) struct McpRequest {
    /// The method, from a closed set.
    pub(crate) method: &'static str,
    /// The registered name of the tool, for `tools/call`.
    pub(crate) tool: Option<String>,
    /// The revision of the protocol.
    pub(crate) version: &'static str,
    /// The name and version that the client gives of itself.
    pub(crate) client: Option<[String; 2]>,
    /// A digest of the id of the session.
    pub(crate) session: Option<String>,
    /// The transport.
    pub(crate) transport: &'static str,
}

impl McpRequest {
    /// The span of the call that the request becomes.
    pub(crate) fn call_span(&self) -> CallSpan {
        CallSpan { open: open_call, error_type: self.tool.as_ref().map(|_| TOOL_ERROR) }
    }

    /// Begins a request that calls no operation, in the trace of the caller or a new one.
    pub(crate) fn begin(&self, id: Option<&str>, parent: Option<TraceContext>) -> Work {
        let client = self.client.as_ref();
        Work::from(span!(
            target: TARGET,
            Level::DEBUG,
            NAME,
            { common::RPC_SYSTEM } = JSON_RPC,
            { common::JSONRPC_VERSION } = "2.0",
            { common::JSONRPC_ID } = id,
            { a::METHOD } = self.method,
            { a::VERSION } = self.version,
            { a::CLIENT } = client.map(|[name, _]| name.as_str()),
            { a::CLIENT_VERSION } = client.map(|[_, version]| version.as_str()),
            { a::SESSION } = self.session.as_deref(),
            { a::TRANSPORT } = self.transport,
            { common::PARENT } = parent.map(display),
            { common::RPC_STATUS } = Empty,
            { common::ERROR_TYPE } = Empty,
        ))
    }
}

fn open_call(attributes: CallAttributes<'_>, extensions: &Extensions) -> Span {
    let Some(request) = extensions.get::<McpRequest>() else { return call_span!(attributes) };
    let client = request.client.as_ref();
    call_span!(
        CallAttributes { system: JSON_RPC, ..attributes },
        a::METHOD => request.method,
        a::VERSION => request.version,
        a::CLIENT => client.map(|[name, _]| name.as_str()),
        a::CLIENT_VERSION => client.map(|[_, version]| version.as_str()),
        a::SESSION => request.session.as_deref(),
        a::TRANSPORT => request.transport,
        a::GEN_AI_OPERATION => request.tool.as_ref().map(|_| EXECUTE_TOOL),
        a::GEN_AI_TOOL => request.tool.as_deref(),
    )
}
