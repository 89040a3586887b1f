//! A running server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::task::TaskTracker;

use super::shared::Shared;
use crate::status::{Phase, Status};

/// A running server: where it is, how it is, and how to stop it. Clones are of the same server.
///
/// The server goes on when the handle is dropped; it ends with [`stop`](Self::stop) or with the
/// runtime.
#[derive(Clone)]
pub struct ServerHandle {
    pub(super) address: SocketAddr,
    pub(super) shared: Arc<Shared>,
    pub(super) tasks: TaskTracker,
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Requests that ran when the server began to stop.
    pub in_flight: usize,
    /// Requests that were cut off because the drain timeout had passed.
    pub cut: usize,
    /// How long the server took to stop.
    pub took: Duration,
}

impl Drained {
    /// Whether every request was answered.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.cut == 0
    }
}

impl ServerHandle {
    /// The address that the server is bound to, with the port that the system chose for port 0.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// How the server is now.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.counts.read()
    }

    /// Stops the server: further requests are answered 503, those that run are finished, or cut
    /// off after the drain timeout; then the socket is closed. Stopping it again waits for the
    /// same end.
    ///
    /// # Cancel safety
    /// When the future is dropped the server stays in the state that it has reached; call it again.
    pub async fn stop(&self) -> Drained {
        let started = Instant::now();
        let in_flight = self.shared.counts.in_flight();
        self.shared.counts.advance(Phase::Draining);
        self.shared.drain.cancel();
        let cut = match tokio::time::timeout(self.shared.settings.drain_timeout, self.idle()).await
        {
            Ok(()) => 0,
            Err(_) => self.shared.counts.in_flight(),
        };
        self.shared.counts.advance(Phase::Stopped);
        self.tasks.close();
        if cut > 0 || tokio::time::timeout(LAST_REPLIES, self.tasks.wait()).await.is_err() {
            self.shared.cut.cancel();
            self.tasks.wait().await;
        }
        Drained { in_flight, cut, took: started.elapsed() }
    }

    /// Waits until the server has stopped.
    pub async fn stopped(&self) {
        self.shared.counts.reached(Phase::Stopped).await;
        self.tasks.wait().await;
    }

    /// Waits until no request runs.
    async fn idle(&self) {
        while self.shared.counts.in_flight() > 0 {
            tokio::time::sleep(POLL).await;
        }
    }
}

/// How often a draining server looks whether it is done.
const POLL: Duration = Duration::from_millis(5);

/// How long the last replies may take to be written once their calls have ended.
const LAST_REPLIES: Duration = Duration::from_secs(2);

impl std::fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerHandle").field("address", &self.address).finish_non_exhaustive()
    }
}
