use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks of a client, which end with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    closing: CancellationToken,
}

impl Tasks {
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let closing = self.closing.clone();
        self.tracker.spawn(async move {
            closing.run_until_cancelled(task).await;
        });
    }

    /// Spawns a task that ends soon after [`closing`](Self::closing).
    pub(super) fn spawn_to_end(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// Ends the tasks.
    pub(super) fn cancel(&self) {
        self.closing.cancel();
    }

    /// Ends the tasks, and waits until they have ended.
    pub(super) async fn close(&self, limit: Duration) {
        self.cancel();
        self.tracker.close();
        // They end at their next await.
        drop(timeout(limit, self.tracker.wait()).await);
    }

    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }
}
