//! A gate at which tools wait until the test opens it, with counters of the waiting calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

/// The gate. Clones are the same gate.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Inner>);

struct Inner {
    open: Semaphore,
    entered: AtomicUsize,
    passed: AtomicUsize,
    dropped: AtomicUsize,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let (entered, passed, dropped) = Default::default();
        Self(Arc::new(Inner { open: Semaphore::new(0), entered, passed, dropped }))
    }

    /// Lets `count` calls pass.
    pub(crate) fn open(&self, count: usize) {
        self.0.open.add_permits(count);
    }

    /// The number of calls that have reached the gate.
    pub(crate) fn entered(&self) -> usize {
        self.0.entered.load(Ordering::SeqCst)
    }

    /// The number of calls that have passed.
    pub(crate) fn passed(&self) -> usize {
        self.0.passed.load(Ordering::SeqCst)
    }

    /// The number of calls that were dropped at the gate.
    pub(crate) fn dropped(&self) -> usize {
        self.0.dropped.load(Ordering::SeqCst)
    }

    /// Waits until the gate is open.
    pub(crate) async fn pass(&self) {
        let mut visit = Visit { gate: self, passed: false };
        self.0.entered.fetch_add(1, Ordering::SeqCst);
        self.0.open.acquire().await.unwrap().forget();
        visit.passed = true;
    }
}

struct Visit<'a> {
    gate: &'a Gate,
    passed: bool,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let Inner { passed, dropped, .. } = &*self.gate.0;
        let counter = if self.passed { passed } else { dropped };
        counter.fetch_add(1, Ordering::SeqCst);
    }
}
