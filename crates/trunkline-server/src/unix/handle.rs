use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio_util::task::TaskTracker;

use super::accept::Shared;
use crate::server::{Drained, Phase, Status};

/// A handle to a running server, with its path and status. Clones refer to the same server.
///
/// Dropping the handle does not stop the server. It runs until [`stop`](Self::stop) is called or the runtime
/// shuts down.
#[derive(Clone)]
pub struct ServerHandle {
    pub(super) path: Arc<Path>,
    pub(super) shared: Arc<Shared>,
    pub(super) tasks: TaskTracker,
    /// The number of aborted calls.
    pub(super) aborted: Arc<AtomicUsize>,
}

impl ServerHandle {
    /// The path of the socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The current status of the server. Requests are messages: a batch counts as one.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.counts.read()
    }

    /// Stops the server: clients can no longer connect, and no further messages are read; running calls are
    /// finished, or aborted after the drain timeout of the stream configuration. Repeated calls wait for the
    /// same end.
    ///
    /// # Cancel safety
    /// The server stops even if the future is dropped.
    pub async fn stop(&self) -> Drained {
        let started = Instant::now();
        let in_flight = self.status().in_flight;
        self.shared.closing.cancel();
        self.stopped().await;
        let aborted = self.aborted.load(Ordering::Relaxed);
        Drained { in_flight, aborted, duration: started.elapsed() }
    }

    /// Waits until the server has stopped.
    pub async fn stopped(&self) {
        self.shared.counts.reached(Phase::Stopped).await;
        self.tasks.wait().await;
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle").field("path", &self.path).finish_non_exhaustive()
    }
}
