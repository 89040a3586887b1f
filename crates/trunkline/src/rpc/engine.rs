//! What runs calls: the layers that every call passes, and the projection before them.

use std::convert::Infallible;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tower::{Layer, Service};

use super::noted::Noted;
use super::projection::{Projected, Projection};
use crate::call::{Call, CallFuture, Notes, Recording};
use crate::layers::catch_panic::CatchPanic;
use crate::layers::concurrency_limit::ConcurrencyLimit;
use crate::layers::metrics::Metrics;
use crate::layers::timeout::Timeout;
use crate::layers::trace::Trace;
use crate::layers::{
    CatchPanicLayer, ConcurrencyLimitLayer, Defaults, MetricsLayer, TimeoutLayer, TraceLayer,
};
use crate::limits::calls::Limits;
use crate::operation::Dispatch;
use crate::outcome::Outcome;

/// The layers that every call passes, see [`layers`](crate::layers).
type Stack = Trace<Noted<Metrics<CatchPanic<Timeout<ConcurrencyLimit<Dispatch>>>>>>;

/// Runs calls that were resolved. Cloning is cheap.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    stack: Stack,
    projection: Option<Arc<dyn Projection>>,
}

/// The future of a call through all layers.
#[derive(Debug)]
pub struct RpcFuture {
    inner: Inner,
    ending: Ending,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all calls are the large one: no box for it")]
enum Inner {
    Operation(<Stack as Service<Call>>::Future),
    Projected(CallFuture),
}

/// Whom the outcome is told to.
#[derive(Debug)]
enum Ending {
    Unrecorded,
    Recorded(Recording),
    /// The record is of a message that the call was made for.
    Noted(Arc<Notes>),
}

impl Engine {
    pub(super) fn new(limits: &Limits, defaults: Defaults, metrics: &MetricsLayer) -> Self {
        let limited = ConcurrencyLimitLayer::optional(limits.concurrent_calls).layer(Dispatch);
        let timed = TimeoutLayer::of_calls(limits.call_timeout).layer(limited);
        let caught = CatchPanicLayer::switched(defaults.catch_panic).layer(timed);
        let stack = TraceLayer::switched(defaults.trace).layer(Noted(metrics.layer(caught)));
        Self { stack, projection: None }
    }

    pub(super) fn project(&mut self, projection: Arc<dyn Projection>) {
        self.projection = Some(projection);
    }

    /// Runs a call through the layers; a method that is no operation is unknown.
    pub(super) fn call_operation(&mut self, mut call: Call) -> RpcFuture {
        let ending = Ending::of(&mut call);
        RpcFuture { inner: Inner::Operation(self.stack.call(call)), ending }
    }
}

impl Service<Call> for Engine {
    type Response = Outcome;
    type Error = Infallible;
    type Future = RpcFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.stack.poll_ready(cx)
    }

    fn call(&mut self, mut call: Call) -> RpcFuture {
        let is_projected = call.operation().is_none()
            && call.aside().is_none_or(|aside| aside.refusal().is_none());
        let Some(projection) = self.projection.as_ref().filter(|_| is_projected) else {
            return self.call_operation(call);
        };
        let ending = Ending::of(&mut call);
        let inner = match projection.project(call) {
            Projected::Answered(future) => Inner::Projected(future),
            Projected::Unknown(call) => Inner::Operation(self.stack.call(*call)),
        };
        RpcFuture { inner, ending }
    }
}

impl Future for RpcFuture {
    type Output = Result<Outcome, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Ok(outcome) = ready!(match &mut self.inner {
            Inner::Operation(future) => Pin::new(future).poll(cx),
            Inner::Projected(future) => Pin::new(future).poll(cx),
        });
        mem::replace(&mut self.ending, Ending::Unrecorded).end(&outcome);
        Poll::Ready(Ok(outcome))
    }
}

impl Ending {
    fn of(call: &mut Call) -> Self {
        match (call.take_recording(), call.notes()) {
            (Some(recording), _) => Self::Recorded(recording),
            (None, Some(notes)) => Self::Noted(Arc::clone(notes)),
            (None, None) => Self::Unrecorded,
        }
    }

    fn end(self, outcome: &Outcome) {
        match self {
            Self::Unrecorded => {}
            Self::Recorded(recording) => recording.end(outcome),
            Self::Noted(notes) => {
                if let Some(code) = outcome.code() {
                    notes.failed(code);
                }
            }
        }
    }
}
