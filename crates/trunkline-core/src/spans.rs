//! Spans with the names of OpenTelemetry's semantic conventions (1.45), and the only place for these names.
//!
//! A span is created only where a subscriber enables the level DEBUG of this module. Otherwise, each function costs the
//! load of one atomic. The span of a call is part of its trace ([`TraceContext`]); other spans are children of the span
//! that is current when they begin. Spans contain neither statements nor values.

use std::borrow::Cow;
use std::fmt::Display;

use tracing::field::{Empty, display};
use tracing::level_filters::LevelFilter;
use tracing::{Level, Span, span};

use crate::trace_context::TraceContext;

/// The names of spans, for subscribers. OpenTelemetry's name of a span is composed of its attributes.
pub mod name {
    /// A call.
    pub const CALL: &str = "call";
    /// A request of MCP that calls no operation, such as `tools/list`.
    pub const MCP: &str = "mcp";
    /// An operation of a database.
    pub const DATABASE: &str = "database";
    /// A turn of an agent.
    pub const AGENT: &str = "agent";
    /// A request to a language model.
    pub const MODEL: &str = "model";
}

/// The names of attributes.
pub mod attribute {
    /// `client` for the calls of a client. Not exported as an attribute.
    pub const KIND: &str = "otel.kind";
    /// The trace of a call. Not exported as an attribute.
    pub const TRACE_ID: &str = "trace_id";
    /// The span of a call. Not exported as an attribute.
    pub const SPAN_ID: &str = "span_id";
    /// The span of the caller, as a `traceparent`. Not exported as an attribute.
    pub const PARENT: &str = "parent";
    /// A span that the call is related to, as a `traceparent`. Not exported as an attribute.
    pub const LINK: &str = "link";
    /// The protocol of a call.
    pub const RPC_SYSTEM: &str = "rpc.system.name";
    /// The operation of a call.
    pub const RPC_METHOD: &str = "rpc.method";
    /// The error code of a call.
    pub const RPC_STATUS: &str = "rpc.response.status_code";
    /// The version of JSON-RPC.
    pub const JSONRPC_VERSION: &str = "jsonrpc.protocol.version";
    /// The id of a request.
    pub const JSONRPC_ID: &str = "jsonrpc.request.id";
    /// The header `X-Request-Id`.
    pub const REQUEST_ID: &str = "http.request.id";
    /// The class of an error.
    pub const ERROR_TYPE: &str = "error.type";
    /// The transport: `tcp`, `pipe` or `unix`.
    pub const TRANSPORT: &str = "network.transport";
    /// The method of MCP.
    pub const MCP_METHOD: &str = "mcp.method.name";
    /// The revision of MCP.
    pub const MCP_VERSION: &str = "mcp.protocol.version";
    /// The name that a client of MCP gives of itself.
    pub const MCP_CLIENT: &str = "mcp.client.name";
    /// The version that a client of MCP gives of itself.
    pub const MCP_CLIENT_VERSION: &str = "mcp.client.version";
    /// A digest of the id of the session of MCP, which is a credential.
    pub const MCP_SESSION: &str = "mcp.session.id";
    /// The operation of an agent or a model.
    pub const GEN_AI_OPERATION: &str = "gen_ai.operation.name";
    /// The API of a model.
    pub const GEN_AI_PROVIDER: &str = "gen_ai.provider.name";
    /// The name of an agent.
    pub const GEN_AI_AGENT: &str = "gen_ai.agent.name";
    /// The conversation of an agent.
    pub const GEN_AI_CONVERSATION: &str = "gen_ai.conversation.id";
    /// The requested model.
    pub const GEN_AI_MODEL: &str = "gen_ai.request.model";
    /// The name of a tool.
    pub const GEN_AI_TOOL: &str = "gen_ai.tool.name";
    /// The tokens of a prompt.
    pub const GEN_AI_INPUT: &str = "gen_ai.usage.input_tokens";
    /// The tokens of a completion.
    pub const GEN_AI_OUTPUT: &str = "gen_ai.usage.output_tokens";
    /// The host of a model.
    pub const SERVER_ADDRESS: &str = "server.address";
    /// The port of a model.
    pub const SERVER_PORT: &str = "server.port";
    /// The engine of a database.
    pub const DB_SYSTEM: &str = "db.system.name";
    /// The operation of a database.
    pub const DB_OPERATION: &str = "db.operation.name";
    /// The table.
    pub const DB_COLLECTION: &str = "db.collection.name";
    /// The operation and the table.
    pub const DB_SUMMARY: &str = "db.query.summary";
}

use attribute as a;

/// The value of [`attribute::GEN_AI_OPERATION`] for calls of tools.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// The value of [`attribute::ERROR_TYPE`] for a tool whose result is an error for the model.
pub const TOOL_ERROR: &str = "tool_error";

/// Whether a subscriber enables spans.
#[inline]
#[must_use]
pub fn are_enabled() -> bool {
    // The macros of `tracing` evaluate the fields also where only the `log` crate could use them.
    LevelFilter::current() >= LevelFilter::DEBUG
}

/// The attributes of a request of MCP, an extension of the call that it becomes. Add it only if spans
/// [are enabled](are_enabled).
#[derive(Debug, Clone)]
pub struct McpRequest {
    /// The method, from a closed set.
    pub method: &'static str,
    /// The registered name of the tool, for `tools/call`.
    pub tool: Option<String>,
    /// The revision of the protocol.
    pub version: &'static str,
    /// The name and version that the client gives of itself.
    pub client: Option<[String; 2]>,
    /// A digest of the id of the session.
    pub session: Option<String>,
    /// The transport: `tcp` or `pipe`.
    pub transport: &'static str,
}

/// The attributes of a call that are known when it begins.
#[derive(Debug, Clone, Copy)]
pub struct CallAttributes<'a> {
    /// The protocol.
    pub system: &'static str,
    /// The operation, or `unknown`.
    pub method: &'a str,
    /// Whether the call is made by a client.
    pub is_client: bool,
    /// Whether an agent makes the call.
    pub is_tool_of_agent: bool,
    /// The request of MCP.
    pub mcp: Option<&'a McpRequest>,
}

/// Creates the span of a call, if it is enabled. The current [`TraceContext`] is that of the span.
#[must_use]
pub fn call(attributes: CallAttributes<'_>) -> Span {
    let CallAttributes { system, method, is_client, is_tool_of_agent, mcp } = attributes;
    let is_json_rpc = mcp.is_some() || system == crate::extensions::JSON_RPC;
    let tool = match mcp {
        Some(mcp) => mcp.tool.as_deref(),
        None => is_tool_of_agent.then_some(method),
    };
    let client = mcp.and_then(|mcp| mcp.client.as_ref());
    span!(
        Level::DEBUG,
        name::CALL,
        { a::RPC_SYSTEM } = if is_json_rpc { crate::extensions::JSON_RPC } else { system },
        { a::JSONRPC_VERSION } = is_json_rpc.then_some("2.0"),
        { a::RPC_METHOD } = method,
        { a::KIND } = is_client.then_some("client"),
        { a::MCP_METHOD } = mcp.map(|mcp| mcp.method),
        { a::MCP_VERSION } = mcp.map(|mcp| mcp.version),
        { a::MCP_CLIENT } = client.map(|[name, _]| name.as_str()),
        { a::MCP_CLIENT_VERSION } = client.map(|[_, version]| version.as_str()),
        { a::MCP_SESSION } = mcp.and_then(|mcp| mcp.session.as_deref()),
        { a::TRANSPORT } = mcp.map(|mcp| mcp.transport),
        { a::GEN_AI_OPERATION } = tool.map(|_| EXECUTE_TOOL),
        { a::GEN_AI_TOOL } = tool,
        { a::JSONRPC_ID } = Empty,
        { a::REQUEST_ID } = Empty,
        { a::TRACE_ID } = Empty,
        { a::SPAN_ID } = Empty,
        { a::PARENT } = Empty,
        { a::LINK } = Empty,
        { a::RPC_STATUS } = Empty,
        { a::ERROR_TYPE } = Empty,
    )
}

/// Begins a request of MCP that calls no operation, in the trace of the caller or a new one.
#[must_use]
pub fn mcp(request: &McpRequest, id: Option<&str>, parent: Option<TraceContext>) -> Work {
    let client = request.client.as_ref();
    let span = span!(
        Level::DEBUG,
        name::MCP,
        { a::RPC_SYSTEM } = crate::extensions::JSON_RPC,
        { a::JSONRPC_VERSION } = "2.0",
        { a::JSONRPC_ID } = id,
        { a::MCP_METHOD } = request.method,
        { a::MCP_VERSION } = request.version,
        { a::MCP_CLIENT } = client.map(|[name, _]| name.as_str()),
        { a::MCP_CLIENT_VERSION } = client.map(|[_, version]| version.as_str()),
        { a::MCP_SESSION } = request.session.as_deref(),
        { a::TRANSPORT } = request.transport,
        { a::PARENT } = parent.map(display),
        { a::RPC_STATUS } = Empty,
        { a::ERROR_TYPE } = Empty,
    );
    Work::of(span)
}

/// Begins an operation of a database, on a table if it has one.
#[must_use]
pub fn database(system: &str, operation: &str, table: Option<&str>) -> Work {
    if !are_enabled() {
        return Work::default();
    }
    let summary = match table {
        Some(table) => Cow::Owned(format!("{operation} {table}")),
        None => Cow::Borrowed(operation),
    };
    Work::of(span!(
        Level::DEBUG,
        name::DATABASE,
        { a::DB_SYSTEM } = system,
        { a::DB_OPERATION } = operation,
        { a::DB_COLLECTION } = table,
        { a::DB_SUMMARY } = &*summary,
        { a::ERROR_TYPE } = Empty,
    ))
}

/// Begins a turn of an agent.
#[must_use]
pub fn agent(name: &str, conversation: &str, model: &str) -> Work {
    if !are_enabled() {
        return Work::default();
    }
    Work::of(span!(
        Level::DEBUG,
        name::AGENT,
        { a::GEN_AI_OPERATION } = "invoke_agent",
        { a::GEN_AI_AGENT } = name,
        { a::GEN_AI_CONVERSATION } = conversation,
        { a::GEN_AI_MODEL } = model,
        { a::GEN_AI_INPUT } = Empty,
        { a::GEN_AI_OUTPUT } = Empty,
        { a::ERROR_TYPE } = Empty,
    ))
}

/// Begins a request to a language model.
#[must_use]
pub fn model(model: &str, host: &str, port: u16) -> Work {
    if !are_enabled() {
        return Work::default();
    }
    Work::of(span!(
        Level::DEBUG,
        name::MODEL,
        { a::KIND } = "client",
        { a::GEN_AI_OPERATION } = "chat",
        // The API. The server may be another one.
        { a::GEN_AI_PROVIDER } = "openai",
        { a::GEN_AI_MODEL } = model,
        { a::SERVER_ADDRESS } = host,
        { a::SERVER_PORT } = port,
        { a::GEN_AI_INPUT } = Empty,
        { a::GEN_AI_OUTPUT } = Empty,
        { a::ERROR_TYPE } = Empty,
    ))
}

/// The span of some work, if it is enabled. The span ends when this is dropped.
#[derive(Debug, Default)]
pub struct Work(Option<Span>);

impl Work {
    fn of(span: Span) -> Self {
        Self((!span.is_disabled()).then_some(span))
    }

    /// Whether the span is enabled.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Records the class of an error, which is from a closed set.
    pub fn fail(&self, class: impl Display) {
        if let Some(span) = &self.0 {
            span.record(a::ERROR_TYPE, display(class));
        }
    }

    /// Records the code of an error response.
    pub fn fail_with_code(&self, code: i64) {
        if let Some(span) = &self.0 {
            span.record(a::RPC_STATUS, code);
        }
    }

    /// Records the tokens of a prompt and of a completion.
    pub fn record_tokens(&self, input: u64, output: u64) {
        if let Some(span) = &self.0 {
            span.record(a::GEN_AI_INPUT, input);
            span.record(a::GEN_AI_OUTPUT, output);
        }
    }

    /// The span, as the parent of spans that begin in it.
    #[must_use]
    pub fn span(&self) -> Span {
        self.0.clone().unwrap_or_else(Span::none)
    }
}
