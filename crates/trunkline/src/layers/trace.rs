//! One tracing span for each call, which is part of a distributed trace (W3C Trace Context).

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Poll, ready};

use http::HeaderValue;
use tracing::Span;
use tracing::field::display;
use trunkline_core::call::{Call, CallFuture};
use trunkline_core::error::code;
use trunkline_core::extensions::JSON_RPC;
use trunkline_core::outcome::Outcome;
use trunkline_core::spans::{self, CallAttributes, attribute};
use trunkline_core::trace_context::{TraceContext, TraceState};
use trunkline_server::request::Headers;

use super::layered::{CallLayer, CallService, layer};

/// Opens a span `call` at DEBUG with OpenTelemetry's names for RPC.
///
/// `rpc.system.name` is the [protocol](crate::Extensions::protocol) of the call. JSON-RPC calls have
/// `jsonrpc.protocol.version` and `jsonrpc.request.id`. `rpc.method` is a
/// registered name or `unknown`, except in a [client's](Self::client); an `X-Request-Id` header is
/// recorded. Params are only in an event at TRACE. Protocols add attributes with a
/// [`CallSpan`](crate::protocol::spans::CallSpan), such as those of OpenTelemetry's conventions for MCP.
///
/// The parent of the span is that of a layer around this one, or of the `traceparent` header of the request
/// if there is exactly one and it is valid, or of the call whose handler makes this call. A call without a
/// parent begins a trace. `trace_id` and `span_id` are recorded, handlers read them with
/// [`TraceContext::of`], and clients in handlers propagate them ([`TraceContext::current`]). If the span is
/// disabled, the context of the parent is propagated unchanged, and a trace begins only for calls that an
/// observer records.
#[derive(Debug, Clone, Copy)]
pub struct TraceLayer {
    naming: Naming,
    on: bool,
}

/// The source of the name of a span.
#[derive(Debug, Clone, Copy)]
enum Naming {
    /// The operation: callers cannot create new names.
    Registered,
    /// The method of the call.
    Called,
}

impl TraceLayer {
    /// Opens one span for each call.
    #[must_use]
    pub fn new() -> Self {
        Self::switched(true)
    }

    /// Opens one span for each call of a [client](crate::client::Client), which has no operations: its
    /// `rpc.method` is the method of the call.
    ///
    /// ```
    /// # use trunkline::{Router, client::Client, layers::TraceLayer};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let rpc = Router::new().method("ping", || "pong").build()?;
    /// let client = Client::new(rpc).layer(TraceLayer::client());
    /// # let pong: String = client.call("ping", ()).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn client() -> Self {
        Self { naming: Naming::Called, on: true }
    }

    pub(crate) fn switched(on: bool) -> Self {
        Self { naming: Naming::Registered, on }
    }
}

impl Naming {
    fn name(self, call: &Call) -> Cow<'_, str> {
        match (self, call.operation()) {
            (Self::Called, _) => call.method(),
            (Self::Registered, Some(operation)) => Cow::Borrowed(operation.name()),
            (Self::Registered, None) => Cow::Borrowed("unknown"),
        }
    }
}

impl Default for TraceLayer {
    fn default() -> Self {
        Self::new()
    }
}

layer!(TraceLayer);

impl CallLayer for TraceLayer {
    fn call<S: CallService>(&self, mut call: Call, inner: &mut S) -> CallFuture<S::Error> {
        let span = if self.on { self.open(&mut call) } else { CallSpan::default() };
        if let Some(observation) = call.observation() {
            observation.run(&call);
        }
        // A handler that is not async runs in `call`, so that is in the span, too.
        let future = span.enter(|| inner.run(call));
        if span.context.is_none() {
            return future;
        }
        if future.is_ready() {
            return future.then(move |ended| span.ended(ended));
        }
        future.polled_by(move |future, cx| {
            let ended = ready!(span.enter(|| Pin::new(future).poll(cx)));
            Poll::Ready(span.ended(ended))
        })
    }
}

impl TraceLayer {
    /// Opens the span of a call, and adds its trace context to the extensions. Without a context if the call has no
    /// parent, the span is disabled, and no observer needs a trace.
    fn open(&self, call: &mut Call) -> CallSpan {
        if spans::are_enabled() {
            let (parent, link) = parent_and_link(call);
            let context = TraceContext::start(parent);
            let span = context.scope(|| self.span(call));
            if !span.is_disabled() {
                call.extensions_mut().insert(context);
                context.scope(|| record(&span, call, context, parent, link));
                let extensions = call.extensions();
                let error_type =
                    extensions.get::<spans::CallSpan>().and_then(|span| span.error_type);
                let state = extensions.trace_state().cloned();
                let (span, context) = (Some(Box::new(span)), Some(context));
                return CallSpan { span, context, state, error_type };
            }
        }
        let context = match parent(call) {
            Some(parent) => parent,
            None if call.observation().is_none() => return CallSpan::default(),
            None => TraceContext::root(),
        };
        call.extensions_mut().insert(context);
        let state = call.extensions().trace_state().cloned();
        CallSpan { span: None, context: Some(context), state, error_type: None }
    }

    fn span(&self, call: &Call) -> Span {
        let attributes = CallAttributes {
            system: call.extensions().protocol(),
            method: &self.naming.name(call),
            is_client: matches!(self.naming, Naming::Called),
        };
        spans::call(attributes, call.extensions())
    }
}

fn parent(call: &Call) -> Option<TraceContext> {
    let extensions = call.extensions();
    let sent = || extensions.remote_trace();
    TraceContext::of(extensions).or_else(sent).or_else(TraceContext::current)
}

/// The parent, and the span of the transport if another one is the parent.
fn parent_and_link(call: &Call) -> (Option<TraceContext>, Option<TraceContext>) {
    let parent = parent(call);
    (parent, call.extensions().remote_trace().filter(|sent| Some(*sent) != parent))
}

/// Records the fields that are expensive to compute.
fn record(
    span: &Span,
    call: &Call,
    context: TraceContext,
    parent: Option<TraceContext>,
    link: Option<TraceContext>,
) {
    span.record(attribute::TRACE_ID, display(context.trace_id()));
    span.record(attribute::SPAN_ID, display(context.span_id()));
    for (field, context) in [(attribute::PARENT, parent), (attribute::LINK, link)] {
        if let Some(context) = context {
            span.record(field, display(context));
        }
    }
    // In protocols other than JSON-RPC and MCP, the client does not know the id.
    if let Some(id) = call.id().filter(|_| call.extensions().protocol() == JSON_RPC) {
        span.record(attribute::JSONRPC_ID, id.as_raw());
    }
    let request_id = Headers::of(call.extensions()).and_then(|headers| headers.get("x-request-id"));
    if let Some(Ok(request_id)) = request_id.map(HeaderValue::to_str) {
        span.record(attribute::REQUEST_ID, request_id);
    }
    let params = call.params().unwrap_or_default();
    tracing::trace!(parent: span, params = %String::from_utf8_lossy(params), "params");
}

/// The span of a running call, if it is enabled, and its trace context. The span is boxed, so that it adds little
/// to the size of the future.
#[derive(Debug, Default)]
struct CallSpan {
    span: Option<Box<Span>>,
    context: Option<TraceContext>,
    state: Option<TraceState>,
    /// The class of errors, except for refusals.
    error_type: Option<&'static str>,
}

impl CallSpan {
    /// Records the end of the call.
    fn ended<E>(&self, ended: Result<Outcome, E>) -> Result<Outcome, E> {
        let code = ended.as_ref().ok().and_then(Outcome::code);
        if let (Some(span), Some(code)) = (&self.span, code) {
            span.record(attribute::RPC_STATUS, code);
            let is_refused =
                [code::UNAUTHENTICATED, code::FORBIDDEN, code::RATE_LIMITED].contains(&code);
            if let Some(class) = self.error_type.filter(|_| !is_refused) {
                span.record(attribute::ERROR_TYPE, class);
            }
        }
        ended
    }

    fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let work = || match &self.span {
            Some(span) => span.in_scope(work),
            None => work(),
        };
        let work = || match &self.state {
            Some(state) => state.scope(work),
            None => work(),
        };
        match self.context {
            Some(context) => context.scope(work),
            None => work(),
        }
    }
}
