//! Counters and durations for each method, and `GET /metrics`.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;
use tower::{Layer, Service};
use trunkline_core::call::Call;
use trunkline_core::outcome::Outcome;

use crate::metrics::{Counters, End};

pub use crate::endpoints::metrics::routes;
pub use crate::metrics::{Histogram, MethodMetrics};
pub use text::{MEDIA_TYPE, text};

/// Counts calls, failures and cancellations of each method, and how long they take.
///
/// Every router has one around all of its methods, which [`Rpc::metrics`](crate::Rpc::metrics) reads:
/// another one counts the same calls again. A [client](crate::client::Client) has none; give it one
/// that knows the methods that it calls:
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

/// The counts of calls whose operation is not known here.
#[derive(Debug, Default)]
struct Others {
    named: BTreeMap<String, Arc<Counters>>,
    unknown: Arc<Counters>,
}

impl MetricsLayer {
    /// Counts calls by the operations that they are made to, and all others as `unknown`.
    #[must_use]
    pub fn new() -> Self {
        Self { others: Arc::default(), on: true }
    }

    /// Counts calls of these methods, for clients; all others as `unknown`.
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

    /// What has been counted of the methods that this layer [was told of](Self::of), in the order of
    /// their names, and last of all others, as `unknown`. What operations are called for is counted
    /// [with them](crate::Rpc::metrics).
    #[must_use]
    pub fn metrics(&self) -> Vec<MethodMetrics> {
        let named = self.others.named.iter().map(|(method, counters)| counters.read(method));
        named.chain([self.unknown().read("unknown")]).collect()
    }

    fn unknown(&self) -> &Counters {
        &self.others.unknown
    }
}

impl Others {
    fn of(&self, method: &str) -> &Arc<Counters> {
        self.named.get(method).unwrap_or(&self.unknown)
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
        Metrics { inner, others: Arc::clone(&self.others), on: self.on }
    }
}

mod text;

/// Counts calls, failures and cancellations, and how long they take.
///
/// Calls of registered methods are counted under their names, all others together: a client
/// cannot make new labels.
#[derive(Debug, Clone)]
pub struct Metrics<S> {
    inner: S,
    others: Arc<Others>,
    on: bool,
}

impl<S, E> Service<Call> for Metrics<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = MetricsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let counters = self.on.then(|| {
            let own = call.operation().and_then(|operation| operation.extensions().get());
            Arc::clone(own.unwrap_or_else(|| self.others.of(&call.method())))
        });
        MetricsFuture::new(counters, || self.inner.call(call))
    }
}

/// The future of a call that is counted.
pub struct MetricsFuture<F> {
    inner: F,
    count: Option<Count>,
}

/// Counts a call as cancelled when it is dropped before its end.
struct Count {
    counters: Arc<Counters>,
    started: Instant,
    end: End,
}

impl<F> MetricsFuture<F> {
    /// The count starts before the call does, since a handler that is not async runs in `start`.
    fn new(counters: Option<Arc<Counters>>, start: impl FnOnce() -> F) -> Self {
        let count = counters.map(Count::new);
        Self { inner: start(), count }
    }
}

impl<F, E> Future for MetricsFuture<F>
where
    F: Future<Output = Result<Outcome, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = ready!(Pin::new(&mut self.inner).poll(cx));
        if let Some(mut count) = self.count.take() {
            count.end = match &ended {
                Ok(outcome) => End::of(outcome.code()),
                Err(_) => End::Failed,
            };
        }
        Poll::Ready(ended)
    }
}

impl Count {
    fn new(counters: Arc<Counters>) -> Self {
        counters.start();
        Self { counters, started: Instant::now(), end: End::Cancelled }
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.counters.end(self.end, self.started.elapsed());
    }
}

impl<F> fmt::Debug for MetricsFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsFuture")
    }
}
