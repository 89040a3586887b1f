use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes may be passed on. All clones take from the same.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    left: Arc<AtomicUsize>,
    limit: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(limit)), limit }
    }

    /// What there was to begin with.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes so many, or none if they are not there.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let left = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }
}
