//! The layers around all calls of a built router.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tower::{Layer, Service};
use trunkline_core::call::{Call, CallFuture};
use trunkline_core::dispatch::Engine;
use trunkline_core::limits::calls::Limits;
use trunkline_core::operation::Dispatch;

use super::catch_panic::{CatchPanic, CatchPanicLayer};
use super::concurrency_limit::{ConcurrencyLimit, ConcurrencyLimitLayer};
use super::metrics::{Metrics, MetricsLayer};
use super::timeout::{Timeout, TimeoutLayer};
use super::trace::{Trace, TraceLayer};
use crate::metrics::Counters;

/// The layers around every method that are on or off as a whole. All are on by default. The other
/// two, timeout and concurrency limit, are values of [`Limits`](crate::Limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defaults {
    /// A tracing span for each call.
    pub trace: bool,
    /// Counters for each method; without them, [`Rpc::metrics`](crate::Rpc::metrics) stays at zero.
    pub metrics: bool,
    /// Panics become -32603. Without it, a panic ends the connection of the call.
    pub catch_panic: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { trace: true, metrics: true, catch_panic: true }
    }
}

/// The layers, outermost first.
#[derive(Debug, Clone)]
pub(crate) struct DefaultStack(Trace<NotifyObservers<Metrics<Inner>>>);

type Inner = CatchPanic<Timeout<ConcurrencyLimit<Dispatch>>>;

impl DefaultStack {
    /// The enabled layers around [`Dispatch`]. Calls of unknown methods are counted in `unknown`.
    pub(crate) fn new(limits: &Limits, defaults: Defaults, unknown: &Arc<Counters>) -> Self {
        let limited = ConcurrencyLimitLayer::optional(limits.concurrent_calls).layer(Dispatch);
        let timed = TimeoutLayer::of_calls(limits.call_timeout).layer(limited);
        let caught = CatchPanicLayer::switched(defaults.catch_panic).layer(timed);
        let counted = MetricsLayer::switched(defaults.metrics, unknown).layer(caught);
        Self(TraceLayer::switched(defaults.trace).layer(NotifyObservers(counted)))
    }
}

impl Engine for DefaultStack {
    fn call(&self, call: Call) -> CallFuture {
        // No layer delays a call of a handler that is not async, so its future is polled here and not boxed.
        let is_immediate = call.operation().is_none_or(|operation| operation.is_immediate());
        let mut future = self.0.clone().call(call);
        if is_immediate {
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(Ok(outcome)) = Pin::new(&mut future).poll(&mut context) {
                return CallFuture::ready(outcome);
            }
        }
        CallFuture::later(async move {
            let Ok(outcome) = future.await;
            outcome
        })
    }
}

/// Passes each call on to the observers inside of the trace layer, which adds the trace context.
#[derive(Debug, Clone)]
struct NotifyObservers<S>(S);

impl<S: Service<Call>> Service<Call> for NotifyObservers<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> S::Future {
        if let Some(notes) = call.notes() {
            notes.call(&call);
        }
        self.0.call(call)
    }
}
