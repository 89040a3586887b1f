use std::sync::Arc;

use tower::Layer;

use super::{Counters, Metrics};

/// Counts calls, failures and cancellations of each method.
#[derive(Debug, Clone)]
pub struct MetricsLayer {
    unknown: Arc<Counters>,
    on: bool,
}

impl MetricsLayer {
    /// Counts.
    #[must_use]
    pub fn new() -> Self {
        Self::switched(true)
    }

    pub(crate) fn switched(on: bool) -> Self {
        Self { unknown: Arc::default(), on }
    }

    pub(crate) fn unknown(&self) -> &Counters {
        &self.unknown
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
        Metrics { inner, unknown: Arc::clone(&self.unknown), on: self.on }
    }
}
