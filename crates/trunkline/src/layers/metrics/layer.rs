use std::collections::BTreeMap;
use std::sync::Arc;

use tower::Layer;

use super::Metrics;
use crate::metrics::{Counters, MethodMetrics};

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
    pub(super) others: Arc<Others>,
    on: bool,
}

/// The counts of calls whose operation is not known here.
#[derive(Debug, Default)]
pub(super) struct Others {
    named: BTreeMap<String, Arc<Counters>>,
    unknown: Arc<Counters>,
}

impl MetricsLayer {
    /// Counts calls by the operations that they are made to, and all others as `unknown`.
    #[must_use]
    pub fn new() -> Self {
        Self::switched(true)
    }

    /// Counts calls of these methods, for clients; all others as `unknown`.
    #[must_use]
    pub fn of(methods: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let named = methods.into_iter().map(|method| (method.into(), Arc::default())).collect();
        Self { others: Arc::new(Others { named, unknown: Arc::default() }), on: true }
    }

    pub(crate) fn switched(on: bool) -> Self {
        Self { others: Arc::default(), on }
    }

    /// What has been counted of the methods that this layer [was told of](Self::of), in the order of
    /// their names, and last of all others, as `unknown`. What operations are called for is counted
    /// [with them](crate::Rpc::metrics).
    #[must_use]
    pub fn metrics(&self) -> Vec<MethodMetrics> {
        let named = self.others.named.iter().map(|(method, counters)| counters.read(method));
        named.chain([self.unknown().read("unknown")]).collect()
    }

    pub(crate) fn unknown(&self) -> &Counters {
        &self.others.unknown
    }
}

impl Others {
    pub(super) fn of(&self, method: &str) -> &Arc<Counters> {
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
