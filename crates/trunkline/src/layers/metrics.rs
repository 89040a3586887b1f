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

/// Counts calls, failures and cancellations of the methods of a [client](crate::client::Client), and measures their
/// durations. Every router counts its own calls ([`Rpc::metrics`](crate::Rpc::metrics)).
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
    named: Arc<BTreeMap<String, Arc<Counters>>>,
    unknown: Arc<Counters>,
}

impl MetricsLayer {
    /// Counts calls of these methods, and all others as `unknown`.
    #[must_use]
    pub fn of(methods: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let named = methods.into_iter().map(|method| (method.into(), Arc::default())).collect();
        Self { named: Arc::new(named), unknown: Arc::default() }
    }

    /// The metrics of the methods, ordered by name, and at the end those of all others as `unknown`.
    #[must_use]
    pub fn metrics(&self) -> Vec<MethodMetrics> {
        let named = self.named.iter().map(|(method, counters)| counters.read(method));
        named.chain([self.unknown.read("unknown")]).collect()
    }
}

layer!(MetricsLayer);

impl CallLayer for MetricsLayer {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        let counters = self.named.get(&*call.method()).unwrap_or(&self.unknown);
        counted(Arc::clone(counters), call, inner)
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
