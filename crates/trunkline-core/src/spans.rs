//! Spans with the names of OpenTelemetry's semantic conventions (1.45): that of a call, and what all spans have in common.
//!
//! The crates that open other spans have a module with their names. All of them have the target [`TARGET`], and are
//! created only where a subscriber enables its level DEBUG. Otherwise, each function costs the load of one atomic. The span
//! of a call is part of its trace ([`TraceContext`](crate::trace_context::TraceContext)); other spans are children of the
//! span that is current when they begin. Spans contain neither statements nor values.

use std::fmt::Display;

use tracing::Span;
use tracing::field::display;
use tracing::level_filters::LevelFilter;

use crate::extensions::{Extensions, JSON_RPC};

/// The target of all spans.
pub const TARGET: &str = module_path!();

/// The names of spans, for subscribers. OpenTelemetry's name of a span is composed of its attributes.
pub mod name {
    /// A call.
    pub const CALL: &str = "call";
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
}

use attribute as a;

/// Whether a subscriber enables spans.
#[inline]
#[must_use]
pub fn are_enabled() -> bool {
    // The macros of `tracing` evaluate the fields also where only the `log` crate could use them.
    LevelFilter::current() >= LevelFilter::DEBUG
}

/// Creates the span of a call, with further attributes: `call_span!(attributes, NAME => value, …)`. The crate that uses it
/// depends on `tracing`.
#[macro_export]
macro_rules! call_span {
    ($attributes:expr $(, $name:expr => $value:expr)* $(,)?) => {{
        let attributes: $crate::spans::CallAttributes<'_> = $attributes;
        ::tracing::span!(
            target: $crate::spans::TARGET,
            ::tracing::Level::DEBUG,
            $crate::spans::name::CALL,
            { $crate::spans::attribute::RPC_SYSTEM } = attributes.system,
            { $crate::spans::attribute::JSONRPC_VERSION } = attributes.json_rpc_version(),
            { $crate::spans::attribute::RPC_METHOD } = attributes.method,
            { $crate::spans::attribute::KIND } = attributes.kind(),
            $({ $name } = $value,)*
            { $crate::spans::attribute::JSONRPC_ID } = ::tracing::field::Empty,
            { $crate::spans::attribute::REQUEST_ID } = ::tracing::field::Empty,
            { $crate::spans::attribute::TRACE_ID } = ::tracing::field::Empty,
            { $crate::spans::attribute::SPAN_ID } = ::tracing::field::Empty,
            { $crate::spans::attribute::PARENT } = ::tracing::field::Empty,
            { $crate::spans::attribute::LINK } = ::tracing::field::Empty,
            { $crate::spans::attribute::RPC_STATUS } = ::tracing::field::Empty,
            { $crate::spans::attribute::ERROR_TYPE } = ::tracing::field::Empty,
        )
    }};
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
}

/// The span of calls with further attributes: an extension of the calls of a protocol. Add it only if spans
/// [are enabled](are_enabled).
#[derive(Debug, Clone, Copy)]
pub struct CallSpan {
    /// Creates the span, with [`call_span!`](crate::call_span).
    pub open: fn(CallAttributes<'_>, &Extensions) -> Span,
    /// The class of the errors of these calls, except for refusals. By default, it is the code.
    pub error_type: Option<&'static str>,
}

/// Creates the span of a call with these extensions, if it is enabled. The current
/// [`TraceContext`](crate::trace_context::TraceContext) is that of the span.
#[must_use]
pub fn call(attributes: CallAttributes<'_>, extensions: &Extensions) -> Span {
    match extensions.get() {
        Some(CallSpan { open, .. }) => open(attributes, extensions),
        None => call_span!(attributes),
    }
}

impl CallAttributes<'_> {
    /// The version of JSON-RPC, for its calls.
    #[must_use]
    pub fn json_rpc_version(&self) -> Option<&'static str> {
        (self.system == JSON_RPC).then_some("2.0")
    }

    /// The kind of the span of a client.
    #[must_use]
    pub fn kind(&self) -> Option<&'static str> {
        self.is_client.then_some("client")
    }
}

/// The span of some work, if it is enabled. The span ends when this is dropped.
#[derive(Debug, Default)]
pub struct Work(Option<Span>);

impl From<Span> for Work {
    fn from(span: Span) -> Self {
        Self((!span.is_disabled()).then_some(span))
    }
}

impl Work {
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

    /// The span, as the parent of spans that begin in it.
    #[must_use]
    pub fn span(&self) -> Span {
        self.0.clone().unwrap_or_else(Span::none)
    }
}
