//! Counters and durations for each method, and `GET /metrics`.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;
use tower::{Layer, Service};
use trunkline_core::call::{Call, RegisteredOperation};
use trunkline_core::outcome::Outcome;

use super::future::{Watch, WatchedFuture};
use crate::metrics::{Counters, End};

pub use crate::endpoints::metrics::{page, routes, routes_with};
pub use crate::exposition::{Exposition, MEDIA_TYPE, text};
pub use crate::metrics::{Histogram, MethodMetrics};

/// Counts calls, failures and cancellations of each method, and measures their durations.
///
/// Every router has one around all of its methods, which [`Rpc::metrics`](crate::Rpc::metrics) reads:
/// another one counts the same calls again. A [client](crate::client::Client) has none by default. Add one
/// with the methods that it calls:
///
/// ```
/// # use trunkline::{Router, client::Client, layers::MetricsLayer};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let rpc = Router::new().method("ping", || "pong").build()?;
/// let layer = MetricsLayer::of(["ping"]);
/// let client = Client::new(rpc).layer(layer.clone());
/// let pong: String = client.call("ping", ()).await?;
/// assert_eq!(layer.metrics()[0].succeeded, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct MetricsLayer {
    others: Arc<Others>,
    on: bool,
}

/// The counters of calls without a registered operation.
#[derive(Debug, Default)]
struct Others {
    named: BTreeMap<String, Arc<Counters>>,
    unknown: Arc<Counters>,
}

impl MetricsLayer {
    /// Counts calls by operation, and calls of unknown methods as `unknown`.
    #[must_use]
    pub fn new() -> Self {
        Self { others: Arc::default(), on: true }
    }

    /// Counts calls of these methods, for clients, and all others as `unknown`.
    #[must_use]
    pub fn of(methods: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let named = methods.into_iter().map(|method| (method.into(), Arc::default())).collect();
        Self { others: Arc::new(Others { named, unknown: Arc::default() }), on: true }
    }

    /// Counts calls of unknown methods in `unknown`.
    pub(crate) fn switched(on: bool, unknown: &Arc<Counters>) -> Self {
        let (named, unknown) = (BTreeMap::new(), Arc::clone(unknown));
        Self { others: Arc::new(Others { named, unknown }), on }
    }

    /// The metrics of the methods that were passed to [`of`](Self::of), ordered by name, and at the end those
    /// of all others as `unknown`. Calls of operations are not included: see
    /// [`Rpc::metrics`](crate::Rpc::metrics).
    #[must_use]
    pub fn metrics(&self) -> Vec<MethodMetrics> {
        let named = self.others.named.iter().map(|(method, counters)| counters.read(method));
        named.chain([self.unknown().read("unknown")]).collect()
    }

    /// Starts to measure a call of `operation`.
    pub(super) fn start<'a>(
        &'a self,
        operation: Option<&'a RegisteredOperation>,
        call: &Call,
    ) -> CallMetrics<&'a Counters> {
        CallMetrics(self.counters(operation, call).map(|counters| Count::new(&**counters)))
    }

    fn counters<'a>(
        &'a self,
        operation: Option<&'a RegisteredOperation>,
        call: &Call,
    ) -> Option<&'a Arc<Counters>> {
        let own = operation.and_then(|operation| operation.extensions().get());
        self.on.then(|| own.unwrap_or_else(|| self.others.of(call)))
    }

    fn unknown(&self) -> &Counters {
        &self.others.unknown
    }
}

impl Others {
    fn of(&self, call: &Call) -> &Arc<Counters> {
        let named = !self.named.is_empty();
        let counters = named.then(|| self.named.get(&*call.method())).flatten();
        counters.unwrap_or(&self.unknown)
    }
}

impl Default for MetricsLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for MetricsLayer {
    type Service = Metrics<S>;

    fn layer(&self, inner: S) -> Metrics<S> {
        Metrics { inner, layer: self.clone() }
    }
}

/// Counts calls, failures and cancellations, and measures their durations.
///
/// Calls of registered methods are counted by name, all others together: a client cannot create new labels.
#[derive(Debug, Clone)]
pub struct Metrics<S> {
    inner: S,
    layer: MetricsLayer,
}

impl<S, E> Service<Call> for Metrics<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
{
    type Response = Outcome;
    type Error = E;
    type Future = WatchedFuture<S::Future, CallMetrics<Arc<Counters>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        // Before the call, since a handler that is not async runs in `call`.
        let counters = self.layer.counters(call.operation().map(|operation| &**operation), &call);
        let metrics = CallMetrics(counters.map(|counters| Count::new(Arc::clone(counters))));
        WatchedFuture::new(self.inner.call(call), metrics)
    }
}

/// The metrics of a running call. It counts the call as cancelled when it is dropped before the end.
#[derive(Debug)]
pub struct CallMetrics<C: Deref<Target = Counters>>(Option<Count<C>>);

#[derive(Debug)]
struct Count<C: Deref<Target = Counters>> {
    counters: C,
    started: Instant,
    end: End,
}

impl<E, C: Deref<Target = Counters>> Watch<E> for CallMetrics<C> {
    type Error = E;

    fn poll(
        &mut self,
        poll: impl FnOnce() -> Poll<Result<Outcome, E>>,
    ) -> Poll<Result<Outcome, E>> {
        let ended = ready!(poll());
        if let Some(mut count) = self.0.take() {
            count.end = match &ended {
                Ok(outcome) => End::of(outcome.code()),
                Err(_) => End::Failed,
            };
        }
        Poll::Ready(ended)
    }
}

impl<C: Deref<Target = Counters>> Count<C> {
    fn new(counters: C) -> Self {
        counters.start();
        Self { counters, started: Instant::now(), end: End::Cancelled }
    }
}

impl<C: Deref<Target = Counters>> Drop for Count<C> {
    fn drop(&mut self) {
        self.counters.end(self.end, self.started.elapsed());
    }
}
