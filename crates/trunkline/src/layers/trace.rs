//! One tracing span for each call, which is part of a distributed trace (W3C Trace Context).

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::{HeaderMap, HeaderValue};
use tower::{Layer, Service};
use tracing::Span;
use tracing::field::{Empty, display};
use trunkline_core::call::Call;
use trunkline_core::extensions::JSON_RPC;
use trunkline_core::outcome::Outcome;
use trunkline_core::trace_context::TraceContext;

use trunkline_server::request::Headers;

/// Opens a tracing span for each call.
#[derive(Debug, Clone, Copy)]
pub struct TraceLayer {
    naming: Naming,
    on: bool,
}

/// What a span is named after.
#[derive(Debug, Clone, Copy)]
enum Naming {
    /// The operation: who calls cannot make new names.
    Registered,
    /// The method that is called, whatever it is.
    Called,
}

impl TraceLayer {
    /// One span for each call.
    #[must_use]
    pub fn new() -> Self {
        Self::switched(true)
    }

    /// One span for each call of a [client](crate::client::Client), which knows no operations: its
    /// `rpc.method` is the method that this program calls.
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
        Trace { inner, naming: self.naming, on: self.on }
    }
}

/// Opens a span `call` at INFO with OpenTelemetry's names for RPC.
///
/// `rpc.system.name` is the [protocol](crate::Extensions::protocol) that the call came in, and
/// `jsonrpc.protocol.version` and `jsonrpc.request.id` are those of a call in JSON-RPC. `rpc.method` is a
/// registered name or `unknown`, except in a [client's](TraceLayer::client); an `X-Request-Id` header is
/// recorded. Params stand in an event at TRACE only.
///
/// The span is a child of the one that the call comes from: that of a layer around this one, or of its
/// `traceparent` header, if there is exactly one and it is valid, or of the call whose handler makes it. A call that comes
/// from none begins a trace. `trace_id` and `span_id` are recorded, handlers find them with
/// [`TraceContext::of`], and clients that they call send them on ([`TraceContext::current`]). When the
/// span is disabled, what the call came with is sent on as it is, and no trace begins.
#[derive(Debug, Clone)]
pub struct Trace<S> {
    inner: S,
    naming: Naming,
    on: bool,
}

impl<S, E> Service<Call> for Trace<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = TraceFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut call: Call) -> Self::Future {
        let place = if self.on { self.place(&mut call) } else { None };
        TraceFuture::new(place, || self.inner.call(call))
    }
}

impl<S> Trace<S> {
    /// None of a call that nobody traces.
    fn place(&self, call: &mut Call) -> Option<Place> {
        let span = self.span(call);
        let parent = parent(call);
        let context = if span.is_disabled() {
            parent?
        } else {
            parent.map_or_else(TraceContext::root, TraceContext::child)
        };
        call.extensions_mut().insert(context);
        record(&span, call, context);
        Some(Place { span, context })
    }

    fn span(&self, call: &Call) -> Span {
        let protocol = || call.extensions().protocol();
        tracing::info_span!(
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
    let sent = || Headers::of(extensions).and_then(traceparent);
    TraceContext::of(extensions).or_else(sent).or_else(TraceContext::current)
}

/// Of two, none can be told to be the right one (section 3.2 of the Trace Context).
fn traceparent(headers: &HeaderMap) -> Option<TraceContext> {
    let mut sent = headers.get_all("traceparent").iter();
    let only = sent.next().filter(|_| sent.next().is_none())?;
    only.to_str().ok()?.parse().ok()
}

/// What costs something to tell, of a span that is recorded.
fn record(span: &Span, call: &Call, context: TraceContext) {
    if span.is_disabled() {
        return;
    }
    span.record("trace_id", display(context.trace_id()));
    span.record("span_id", display(context.span_id()));
    // In another protocol, the id is none that its client knows.
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

/// The future of a call in its span.
pub struct TraceFuture<F> {
    inner: F,
    /// Boxed, so that calls that are not traced do not carry the room for it along.
    place: Option<Box<Place>>,
}

/// Where in a trace a call runs.
struct Place {
    span: Span,
    context: TraceContext,
}

impl<F> TraceFuture<F> {
    /// The call starts in its place, too: a handler that is not async runs in `start`.
    fn new(place: Option<Place>, start: impl FnOnce() -> F) -> Self {
        let place = place.map(Box::new);
        Self { inner: run(place.as_deref(), start), place }
    }
}

impl<F, E> Future for TraceFuture<F>
where
    F: Future<Output = Result<Outcome, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { inner, place } = &mut *self;
        let ended = ready!(run(place.as_deref(), || Pin::new(inner).poll(cx)));
        let code = ended.as_ref().ok().and_then(Outcome::code);
        if let (Some(place), Some(code)) = (place, code) {
            place.span.record("rpc.response.status_code", code);
        }
        Poll::Ready(ended)
    }
}

fn run<T>(place: Option<&Place>, work: impl FnOnce() -> T) -> T {
    match place {
        Some(place) => place.span.in_scope(|| place.context.scope(work)),
        None => work(),
    }
}

impl<F> fmt::Debug for TraceFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = self.place.as_ref().map(|place| &place.span);
        f.debug_struct("TraceFuture").field("span", &span).finish_non_exhaustive()
    }
}
