//! The spans of turns and of requests to language models, and the names of their attributes.

use tracing::field::Empty;
use tracing::{Level, Span, span};
use trunkline::Extensions;
use trunkline::protocol::call_span;
use trunkline::protocol::spans::attribute::{ERROR_TYPE, KIND};
use trunkline::protocol::spans::{CallAttributes, CallSpan, TARGET, Work, are_enabled};
use trunkline_mcp::spans::EXECUTE_TOOL;
use trunkline_mcp::spans::attribute::{GEN_AI_OPERATION, GEN_AI_TOOL};

use attribute as a;

/// The names of spans.
pub mod name {
    /// A turn of an agent.
    pub const AGENT: &str = "agent";
    /// A request to a language model.
    pub const MODEL: &str = "model";
}

/// The names of attributes, in addition to those of calls of tools.
pub mod attribute {
    /// The API of a model.
    pub const PROVIDER: &str = "gen_ai.provider.name";
    /// The name of an agent.
    pub const AGENT: &str = "gen_ai.agent.name";
    /// The conversation of an agent.
    pub const CONVERSATION: &str = "gen_ai.conversation.id";
    /// The requested model.
    pub const MODEL: &str = "gen_ai.request.model";
    /// The tokens of a prompt.
    pub const INPUT: &str = "gen_ai.usage.input_tokens";
    /// The tokens of a completion.
    pub const OUTPUT: &str = "gen_ai.usage.output_tokens";
    /// The host of a model.
    pub const SERVER_ADDRESS: &str = "server.address";
    /// The port of a model.
    pub const SERVER_PORT: &str = "server.port";
}

/// The span of the calls that an agent makes.
pub(crate) const CALL: CallSpan = CallSpan { open: open_call, error_type: None };

fn open_call(attributes: CallAttributes<'_>, _: &Extensions) -> Span {
    call_span!(attributes, GEN_AI_OPERATION => EXECUTE_TOOL, GEN_AI_TOOL => attributes.method)
}

/// Begins a turn of an agent.
pub(crate) fn agent(name: &str, conversation: &str, model: &str) -> Work {
    if !are_enabled() {
        return Work::default();
    }
    Work::from(span!(
        target: TARGET,
        Level::DEBUG,
        name::AGENT,
        { GEN_AI_OPERATION } = "invoke_agent",
        { a::AGENT } = name,
        { a::CONVERSATION } = conversation,
        { a::MODEL } = model,
        { a::INPUT } = Empty,
        { a::OUTPUT } = Empty,
        { ERROR_TYPE } = Empty,
    ))
}

/// Begins a request to a language model.
pub(crate) fn model(model: &str, host: &str, port: u16) -> Work {
    if !are_enabled() {
        return Work::default();
    }
    Work::from(span!(
        target: TARGET,
        Level::DEBUG,
        name::MODEL,
        { KIND } = "client",
        { GEN_AI_OPERATION } = "chat",
        // The API. The server may be another one.
        { a::PROVIDER } = "openai",
        { a::MODEL } = model,
        { a::SERVER_ADDRESS } = host,
        { a::SERVER_PORT } = port,
        { a::INPUT } = Empty,
        { a::OUTPUT } = Empty,
        { ERROR_TYPE } = Empty,
    ))
}

/// Records the tokens of a prompt and of a completion.
pub(crate) fn record_tokens(work: &Work, input: u64, output: u64) {
    let span = work.span();
    span.record(a::INPUT, input);
    span.record(a::OUTPUT, output);
}
