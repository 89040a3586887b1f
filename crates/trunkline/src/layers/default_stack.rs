//! The layers that every call of a built router passes.

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
use super::defaults::Defaults;
use super::metrics::{Metrics, MetricsLayer};
use super::timeout::{Timeout, TimeoutLayer};
use super::trace::{Trace, TraceLayer};
use crate::metrics::Counters;

/// The layers, outermost first.
#[derive(Debug, Clone)]
pub(crate) struct DefaultStack(Trace<Noted<Metrics<Inner>>>);

type Inner = CatchPanic<Timeout<ConcurrencyLimit<Dispatch>>>;

impl DefaultStack {
    /// The layers that are on, around [`Dispatch`]. Calls of unknown methods are counted in `unknown`.
    pub(crate) fn new(limits: &Limits, defaults: Defaults, unknown: &Arc<Counters>) -> Self {
        let limited = ConcurrencyLimitLayer::optional(limits.concurrent_calls).layer(Dispatch);
        let timed = TimeoutLayer::of_calls(limits.call_timeout).layer(limited);
        let caught = CatchPanicLayer::switched(defaults.catch_panic).layer(timed);
        let counted = MetricsLayer::switched(defaults.metrics, unknown).layer(caught);
        Self(TraceLayer::switched(defaults.trace).layer(Noted(counted)))
    }
}

impl Engine for DefaultStack {
    fn call(&self, call: Call) -> CallFuture {
        // Nothing in these layers holds back such a call, so its future is not moved into a box.
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

/// Passes on to observers what is known of a call behind the layer that traces it.
#[derive(Debug, Clone)]
struct Noted<S>(S);

impl<S: Service<Call>> Service<Call> for Noted<S> {
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
