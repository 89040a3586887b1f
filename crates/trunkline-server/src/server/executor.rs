//! Tasks that hyper starts belong to the server too.

use tokio_util::task::TaskTracker;

/// Spawns on a server's tracker.
#[derive(Debug, Clone)]
pub(super) struct Tracked(pub(super) TaskTracker);

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}
