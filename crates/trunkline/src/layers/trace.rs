//! One tracing span for each call, which is part of a distributed trace (W3C Trace Context).

use std::borrow::Cow;
use std::task::{Context, Poll, ready};

use http::HeaderValue;
use tower::{Layer, Service};
use tracing::Span;
use tracing::field::{Empty, display};
use tracing::level_filters::LevelFilter;
use trunkline_core::call::Call;
use trunkline_core::extensions::JSON_RPC;
use trunkline_core::outcome::Outcome;
use trunkline_core::trace_context::TraceContext;
use trunkline_server::request::Headers;

use super::future::{Watch, WatchedFuture};

/// Opens a tracing span for each call.
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

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner, layer: *self }
    }
}

/// Opens a span `call` at DEBUG with OpenTelemetry's names for RPC.
///
/// `rpc.system.name` is the [protocol](crate::Extensions::protocol) of the call. JSON-RPC calls have
/// `jsonrpc.protocol.version` and `jsonrpc.request.id`. `rpc.method` is a
/// registered name or `unknown`, except in a [client's](TraceLayer::client); an `X-Request-Id` header is
/// recorded. Params are only in an event at TRACE.
///
/// The parent of the span is that of a layer around this one, or of the `traceparent` header of the request
/// if there is exactly one and it is valid, or of the call whose handler makes this call. A call without a
/// parent begins a trace. `trace_id` and `span_id` are recorded, handlers read them with
/// [`TraceContext::of`], and clients in handlers propagate them ([`TraceContext::current`]). If the span is
/// disabled, the context of the parent is propagated unchanged, and a trace begins only for calls that an
/// observer records.
#[derive(Debug, Clone)]
pub struct Trace<S> {
    inner: S,
    layer: TraceLayer,
}

impl<S, E> Service<Call> for Trace<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
{
    type Response = Outcome;
    type Error = E;
    type Future = WatchedFuture<S::Future, CallSpan>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut call: Call) -> Self::Future {
        let span = self.layer.open(&mut call);
        // A handler that is not async runs in `call`, so that is in the span, too.
        let inner = span.enter(|| self.inner.call(call));
        WatchedFuture::new(inner, span)
    }
}

impl TraceLayer {
    /// Opens the span of a call, and adds its trace context to the extensions.
    pub(super) fn open(&self, call: &mut Call) -> CallSpan {
        if self.on { self.place(call) } else { CallSpan::default() }
    }

    /// Without a context if the call has no parent, the span is disabled, and no observer needs a trace.
    fn place(&self, call: &mut Call) -> CallSpan {
        let span = self.span(call);
        let context = match parent(call) {
            Some(parent) if span.is_none() => parent,
            Some(parent) => parent.child(),
            None if span.is_none() && call.notes().is_none() => return CallSpan::default(),
            None => TraceContext::root(),
        };
        call.extensions_mut().insert(context);
        if let Some(span) = &span {
            record(span, call, context);
        }
        CallSpan { span, context: Some(context) }
    }

    /// The span, if it is enabled.
    #[inline]
    fn span(&self, call: &Call) -> Option<Box<Span>> {
        // The macro evaluates the fields also where only the `log` crate could use them.
        if LevelFilter::current() < LevelFilter::DEBUG {
            return None;
        }
        let span = self.debug_span(call);
        (!span.is_disabled()).then(|| Box::new(span))
    }

    fn debug_span(&self, call: &Call) -> Span {
        let protocol = || call.extensions().protocol();
        tracing::debug_span!(
            "call",
            rpc.system.name = protocol(),
            jsonrpc.protocol.version = (protocol() == JSON_RPC).then_some("2.0"),
            rpc.method = &*self.naming.name(call),
            jsonrpc.request.id = Empty,
            http.request.id = Empty,
            trace_id = Empty,
            span_id = Empty,
            rpc.response.status_code = Empty,
        )
    }
}

fn parent(call: &Call) -> Option<TraceContext> {
    let extensions = call.extensions();
    let sent = || extensions.remote_trace();
    TraceContext::of(extensions).or_else(sent).or_else(TraceContext::current)
}

/// Records the fields that are expensive to compute.
fn record(span: &Span, call: &Call, context: TraceContext) {
    span.record("trace_id", display(context.trace_id()));
    span.record("span_id", display(context.span_id()));
    // In other protocols, the client does not know the id.
    if let Some(id) = call.id().filter(|_| call.extensions().protocol() == JSON_RPC) {
        span.record("jsonrpc.request.id", id.as_raw());
    }
    let request_id = Headers::of(call.extensions()).and_then(|headers| headers.get("x-request-id"));
    if let Some(Ok(request_id)) = request_id.map(HeaderValue::to_str) {
        span.record("http.request.id", request_id);
    }
    let params = call.params().unwrap_or_default();
    tracing::trace!(parent: span, params = %String::from_utf8_lossy(params), "params");
}

/// The span of a running call, if it is enabled, and its trace context. The span is boxed, so that it adds little
/// to the size of the future.
#[derive(Debug, Default)]
pub struct CallSpan {
    span: Option<Box<Span>>,
    context: Option<TraceContext>,
}

impl<E> Watch<E> for CallSpan {
    type Error = E;

    fn poll(
        &mut self,
        poll: impl FnOnce() -> Poll<Result<Outcome, E>>,
    ) -> Poll<Result<Outcome, E>> {
        let ended = ready!(self.enter(poll));
        let code = ended.as_ref().ok().and_then(Outcome::code);
        if let (Some(span), Some(code)) = (&self.span, code) {
            span.record("rpc.response.status_code", code);
        }
        Poll::Ready(ended)
    }
}

impl CallSpan {
    fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let work = || match &self.span {
            Some(span) => span.in_scope(work),
            None => work(),
        };
        match self.context {
            Some(context) => context.scope(work),
            None => work(),
        }
    }
}
