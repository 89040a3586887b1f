use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio_util::task::TaskTracker;

use super::accept::Shared;
use crate::server::{Drained, Phase, Status};

/// A running server: where it is, how it is, and how to stop it. Clones are of the same server.
///
/// The server goes on when the handle is dropped; it ends with [`stop`](Self::stop) or with the
/// runtime.
#[derive(Clone)]
pub struct ServerHandle {
    pub(super) path: Arc<Path>,
    pub(super) shared: Arc<Shared>,
    pub(super) tasks: TaskTracker,
    /// Calls that were cut off.
    pub(super) cut: Arc<AtomicUsize>,
}

impl ServerHandle {
    /// The socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the server is now. Its requests are messages: a batch is one.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.counts.read()
    }

    /// Stops the server: nobody can connect any more, and no further messages are read; those that run
    /// are finished, or cut off after the drain timeout of the stream's settings. Stopping it again
    /// waits for the same end.
    ///
    /// # Cancel safety
    /// When the future is dropped the server stops all the same.
    pub async fn stop(&self) -> Drained {
        let started = Instant::now();
        let in_flight = self.status().in_flight;
        self.shared.closing.cancel();
        self.stopped().await;
        Drained { in_flight, cut: self.cut.load(Ordering::Relaxed), took: started.elapsed() }
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
