//! One tracing span for each call.

mod future;
mod layer;

use std::convert::Infallible;
use std::task::{Context, Poll};

use http::HeaderValue;
use tower::Service;
use tracing::Span;
use tracing::field::Empty;

use crate::call::Call;
use crate::http::Headers;
use crate::outcome::Outcome;

pub use future::TraceFuture;
pub use layer::TraceLayer;

/// Opens a span `call` at INFO with OpenTelemetry's names for RPC.
///
/// `rpc.method` is a registered name or `unknown`; an `X-Request-Id` header is recorded. Params stand in an event at TRACE only.
#[derive(Debug, Clone)]
pub struct Trace<S> {
    inner: S,
    on: bool,
}

impl<S> Service<Call> for Trace<S>
where
    S: Service<Call, Response = Outcome, Error = Infallible>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = Infallible;
    type Future = TraceFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let span = if self.on { span(&call) } else { Span::none() };
        let entered = span.enter();
        let inner = self.inner.call(call);
        drop(entered);
        TraceFuture::new(inner, span)
    }
}

fn span(call: &Call) -> Span {
    let span = tracing::info_span!(
        "call",
        rpc.system.name = "jsonrpc",
        rpc.method = call.operation().map_or("unknown", |operation| operation.name()),
        jsonrpc.request.id = Empty,
        http.request.id = Empty,
        rpc.response.status_code = Empty,
    );
    if !span.is_disabled() {
        if let Some(id) = call.id() {
            span.record("jsonrpc.request.id", id.as_raw());
        }
        let request_id =
            Headers::of(call.extensions()).and_then(|headers| headers.get("x-request-id"));
        if let Some(Ok(request_id)) = request_id.map(HeaderValue::to_str) {
            span.record("http.request.id", request_id);
        }
        let params = call.params().unwrap_or_default();
        tracing::trace!(parent: &span, params = %String::from_utf8_lossy(params), "params");
    }
    span
}
