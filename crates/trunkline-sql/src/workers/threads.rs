use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use super::lock;

/// How many threads of a pool run.
#[derive(Default)]
pub(super) struct Threads {
    running: Mutex<usize>,
    one_ended: Condvar,
}

/// A thread that runs, until it is dropped.
pub(super) struct Running(Arc<Threads>);

impl Threads {
    pub(super) fn one_more(self: &Arc<Self>) -> Running {
        *lock(&self.running) += 1;
        Running(Arc::clone(self))
    }

    /// Waits until none runs, and tells whether that came to be in time.
    pub(super) fn wait_for_end(&self, until: Instant) -> bool {
        let mut running = lock(&self.running);
        while *running > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.one_ended.wait_timeout(running, left);
            running = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *lock(&self.0.running) -= 1;
        self.0.one_ended.notify_all();
    }
}
