//! What runs calls: the layers that every call passes, and the projection before them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::{Layer, Service};

use super::projection::{Projected, Projection};
use crate::call::Call;
use crate::layers::catch_panic::CatchPanic;
use crate::layers::concurrency_limit::ConcurrencyLimit;
use crate::layers::metrics::Metrics;
use crate::layers::timeout::Timeout;
use crate::layers::trace::Trace;
use crate::layers::{
    CatchPanicLayer, ConcurrencyLimitLayer, Defaults, MetricsLayer, TimeoutLayer, TraceLayer,
};
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::router::{CallFuture, Dispatch};

/// The layers that every call passes, see [`layers`](crate::layers).
type Stack = Trace<Metrics<CatchPanic<Timeout<ConcurrencyLimit<Dispatch>>>>>;

/// Runs calls that were resolved. Cloning is cheap.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    stack: Stack,
    projection: Option<Arc<dyn Projection>>,
}

/// The future of a call through all layers.
#[derive(Debug)]
pub struct RpcFuture(Inner);

#[derive(Debug)]
enum Inner {
    Operation(<Stack as Service<Call>>::Future),
    Projected(CallFuture),
}

impl Engine {
    pub(super) fn new(limits: &Limits, defaults: Defaults, metrics: &MetricsLayer) -> Self {
        let limited = ConcurrencyLimitLayer::optional(limits.concurrent_calls).layer(Dispatch);
        let timed = TimeoutLayer::optional(limits.call_timeout).layer(limited);
        let caught = CatchPanicLayer::switched(defaults.catch_panic).layer(timed);
        let stack = TraceLayer::switched(defaults.trace).layer(metrics.layer(caught));
        Self { stack, projection: None }
    }

    pub(super) fn project(&mut self, projection: Arc<dyn Projection>) {
        self.projection = Some(projection);
    }

    /// Runs a call through the layers; a method that is no operation is unknown.
    pub(super) fn call_operation(&mut self, call: Call) -> RpcFuture {
        RpcFuture(Inner::Operation(self.stack.call(call)))
    }
}

impl Service<Call> for Engine {
    type Response = Outcome;
    type Error = Infallible;
    type Future = RpcFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.stack.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> RpcFuture {
        match &self.projection {
            Some(projection) if call.operation().is_none() => match projection.project(call) {
                Projected::Answered(future) => RpcFuture(Inner::Projected(future)),
                Projected::Unknown(call) => self.call_operation(*call),
            },
            _ => self.call_operation(call),
        }
    }
}

impl Future for RpcFuture {
    type Output = Result<Outcome, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Inner::Operation(future) => Pin::new(future).poll(cx),
            Inner::Projected(future) => Pin::new(future).poll(cx),
        }
    }
}
