//! The layers around all calls of a built router.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tower::{Layer, Service};
use trunkline_core::call::{Call, CallFuture, Description};
use trunkline_core::dispatch::Engine;
use trunkline_core::error::ErrorObject;
use trunkline_core::limits::calls::Limits;
use trunkline_core::operation::Dispatch;
use trunkline_core::outcome::Outcome;

use super::catch_panic::CatchPanicLayer;
use super::concurrency_limit::{ConcurrencyLimit, ConcurrencyLimitLayer};
use super::future::Watch;
use super::metrics::MetricsLayer;
use super::timeout::{Timeout, TimeoutLayer};
use super::trace::TraceLayer;
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

/// The defaults of the router that an operation was merged from, instead of those of the service. An extension of its
/// description.
#[derive(Debug)]
struct MergedDefaults(Defaults);

impl Defaults {
    /// Keeps these defaults for an operation, unless it already has others.
    pub(crate) fn keep(self, description: &mut Description) {
        if description.extensions.get::<MergedDefaults>().is_none() {
            description.extensions.insert(MergedDefaults(self));
        }
    }
}

/// The layers: trace, metrics, panics, and those of [`Waiting`], outermost first.
#[derive(Debug, Clone)]
pub(crate) struct DefaultStack {
    layers: Switched,
    /// The layers of operations of merged routers.
    merged: Vec<(Defaults, Switched)>,
    waiting: Waiting,
}

/// The layers that [`Defaults`] switch.
#[derive(Debug, Clone)]
struct Switched {
    trace: TraceLayer,
    metrics: MetricsLayer,
    catch_panic: CatchPanicLayer,
}

/// The layers of calls that may wait.
type Waiting = Timeout<ConcurrencyLimit<Dispatch>>;

impl DefaultStack {
    /// The enabled layers around [`Dispatch`]. `merged` are the defaults of merged routers. Calls of unknown methods are
    /// counted in `unknown`.
    pub(crate) fn new(
        limits: &Limits,
        defaults: Defaults,
        merged: &[Defaults],
        unknown: &Arc<Counters>,
    ) -> Self {
        let limited = ConcurrencyLimitLayer::optional(limits.concurrent_calls).layer(Dispatch);
        let merged = merged.iter().map(|defaults| (*defaults, Switched::new(*defaults, unknown)));
        Self {
            layers: Switched::new(defaults, unknown),
            merged: merged.collect(),
            waiting: TimeoutLayer::of_calls(limits.call_timeout).layer(limited),
        }
    }

    fn layers_of(&self, call: &Call) -> &Switched {
        if self.merged.is_empty() {
            return &self.layers;
        }
        let description = call.operation().map(|operation| operation.description());
        let own = description.and_then(|description| description.extensions.get());
        let own =
            own.and_then(|MergedDefaults(own)| self.merged.iter().find(|(one, _)| one == own));
        own.map_or(&self.layers, |(_, layers)| layers)
    }

    /// Runs a call whose handler is not async, without the services and futures of the layers.
    fn run(&self, mut call: Call) -> Outcome {
        let Switched { trace, metrics, catch_panic } = self.layers_of(&call);
        let mut span = trace.open(&mut call);
        notify_observers(&call);
        // Cloned, since the metrics need it after the call was consumed.
        let operation = call.operation().cloned();
        let mut metrics = metrics.start(operation.as_deref(), &call);
        let mut panics = catch_panic.guard();
        let run = || {
            let mut context = Context::from_waker(Waker::noop());
            Pin::new(&mut Dispatch::run(operation.as_deref(), call)).poll(&mut context)
        };
        match span.poll(|| metrics.poll(|| panics.poll(run))) {
            Poll::Ready(Ok(outcome)) => outcome,
            Poll::Pending => {
                Outcome::error(ErrorObject::internal(&"an operation that is not async is pending"))
            }
        }
    }
}

impl Switched {
    fn new(defaults: Defaults, unknown: &Arc<Counters>) -> Self {
        Self {
            trace: TraceLayer::switched(defaults.trace),
            metrics: MetricsLayer::switched(defaults.metrics, unknown),
            catch_panic: CatchPanicLayer::switched(defaults.catch_panic),
        }
    }
}

impl Engine for DefaultStack {
    fn call(&self, call: Call) -> CallFuture {
        if call.operation().is_none_or(|operation| operation.is_immediate()) {
            return CallFuture::ready(self.run(call));
        }
        let Switched { trace, metrics, catch_panic } = self.layers_of(&call);
        let caught = catch_panic.layer(self.waiting.clone());
        let counted = NotifyObservers(metrics.layer(caught));
        let future = trace.layer(counted).call(call);
        CallFuture::from_future(async move {
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
        notify_observers(&call);
        self.0.call(call)
    }
}

fn notify_observers(call: &Call) {
    if let Some(notes) = call.notes() {
        notes.call(call);
    }
}
