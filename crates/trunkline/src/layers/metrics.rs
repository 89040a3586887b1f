//! Counters and durations for each method, and `GET /metrics`.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;
use trunkline_core::call::{Call, CallFuture};

use super::layered::{CallLayer, CallService, layer};
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
        Self { others: Arc::default() }
    }

    /// Counts calls of these methods, for clients, and all others as `unknown`.
    #[must_use]
    pub fn of(methods: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let named = methods.into_iter().map(|method| (method.into(), Arc::default())).collect();
        Self { others: Arc::new(Others { named, unknown: Arc::default() }) }
    }

    /// The metrics of the methods that were passed to [`of`](Self::of), ordered by name, and at the end those
    /// of all others as `unknown`. Calls of operations are not included: see
    /// [`Rpc::metrics`](crate::Rpc::metrics).
    #[must_use]
    pub fn metrics(&self) -> Vec<MethodMetrics> {
        let named = self.others.named.iter().map(|(method, counters)| counters.read(method));
        named.chain([self.unknown().read("unknown")]).collect()
    }

    fn counters<'a>(&'a self, call: &'a Call) -> &'a Arc<Counters> {
        let operation = call.operation();
        let own = operation.and_then(|operation| operation.extensions().get());
        own.unwrap_or_else(|| self.others.of(call))
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

layer!(MetricsLayer);

/// Calls of registered methods are counted by name, all others together: a client cannot create new labels.
impl CallLayer for MetricsLayer {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        counted(Arc::clone(self.counters(&call)), call, inner)
    }
}

/// Counts all calls in the same counters, or none.
#[derive(Debug, Clone)]
pub(super) struct CountLayer(pub(super) Option<Arc<Counters>>);

layer!(CountLayer);

impl CallLayer for CountLayer {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        match &self.0 {
            Some(counters) => counted(Arc::clone(counters), call, inner),
            None => inner.run(call),
        }
    }
}

#[inline]
fn counted<S: CallService>(
    counters: Arc<Counters>,
    call: Call,
    inner: &mut S,
) -> CallFuture<S::Error> {
    // Before the call, since a handler that is not async runs in it.
    let running = RunningCall::new(counters);
    inner.run(call).then(|ended| {
        let end = ended.as_ref().map_or(End::Failed, |outcome| End::of(outcome.code()));
        running.end(end);
        ended
    })
}

/// A running call, which is counted as cancelled when it is dropped before its end.
#[derive(Debug)]
struct RunningCall {
    counters: Arc<Counters>,
    started: Instant,
    end: End,
}

impl RunningCall {
    fn new(counters: Arc<Counters>) -> Self {
        counters.start();
        Self { counters, started: Instant::now(), end: End::Cancelled }
    }

    fn end(mut self, end: End) {
        self.end = end;
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.counters.end(self.end, self.started.elapsed());
    }
}
