use std::sync::Arc;

use tokio::sync::Semaphore;
use tower::Layer;

use super::ConcurrencyLimit;

/// Bounds the calls that run at the same time, over all that this layer wraps.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimitLayer {
    permits: Option<Arc<Semaphore>>,
}

impl ConcurrencyLimitLayer {
    /// At most `calls` run at the same time.
    #[must_use]
    pub fn new(calls: usize) -> Self {
        Self::optional(Some(calls))
    }

    pub(crate) fn optional(calls: Option<usize>) -> Self {
        let semaphore = |calls: usize| Arc::new(Semaphore::new(calls.min(Semaphore::MAX_PERMITS)));
        Self { permits: calls.map(semaphore) }
    }
}

impl<S> Layer<S> for ConcurrencyLimitLayer {
    type Service = ConcurrencyLimit<S>;

    fn layer(&self, inner: S) -> ConcurrencyLimit<S> {
        ConcurrencyLimit { inner, permits: self.permits.clone() }
    }
}
