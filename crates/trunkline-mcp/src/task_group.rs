//! Background tasks that end with their owner.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The background tasks of a server or client. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskGroup {
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl TaskGroup {
    /// Runs a future to its end, or until [`closing`](Self::closing): then its output is `None`.
    pub(crate) fn spawn<F>(&self, future: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let closing = self.closing.clone();
        self.tasks.spawn(async move { closing.run_until_cancelled(future).await })
    }

    /// Runs a future that ends soon after [`closing`](Self::closing) by itself.
    pub(crate) fn spawn_to_end(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(future);
    }

    /// Cancelled when the tasks have to end.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Ends the tasks, and waits for them. Returns the number of those that have not ended after `limit`.
    pub(crate) async fn close(&self, limit: Duration) -> usize {
        self.closing.cancel();
        self.wait(limit).await
    }

    /// Waits for the tasks, and ends those that have not ended after `limit`. Returns their number.
    pub(crate) async fn stop(&self, limit: Duration) -> usize {
        let dropped = self.wait(limit).await;
        if dropped > 0 {
            self.closing.cancel();
            self.tasks.wait().await;
        }
        dropped
    }

    async fn wait(&self, limit: Duration) -> usize {
        self.tasks.close();
        match timeout(limit, self.tasks.wait()).await {
            Ok(()) => 0,
            Err(_) => self.tasks.len(),
        }
    }
}
