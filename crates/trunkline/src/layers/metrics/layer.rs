use std::sync::Arc;

use tower::Layer;

use super::{Counters, Metrics};

/// Counts calls, failures and cancellations of each method.
#[derive(Debug, Clone, Default)]
pub struct MetricsLayer {
    unknown: Arc<Counters>,
}

impl MetricsLayer {
    pub(crate) fn unknown(&self) -> &Counters {
        &self.unknown
    }
}

impl<S> Layer<S> for MetricsLayer {
    type Service = Metrics<S>;

    fn layer(&self, inner: S) -> Metrics<S> {
        Metrics { inner, unknown: Arc::clone(&self.unknown) }
    }
}
