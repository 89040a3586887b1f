//! A running server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use tokio_util::task::TaskTracker;

use super::config::DrainMode;
use super::shared::Shared;
use crate::status::{Phase, Status};

/// A handle to a running server, with its address and status. Clones refer to the same server.
///
/// Dropping the handle does not stop the server. It runs until [`stop`](Self::stop) is called or the runtime
/// shuts down.
#[derive(Clone)]
pub struct ServerHandle {
    pub(super) address: SocketAddr,
    pub(super) shared: Arc<Shared>,
    pub(super) tasks: TaskTracker,
}

/// The result of stopping a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// The number of requests that were running when the server started to stop.
    pub in_flight: usize,
    /// The number of requests aborted after the drain timeout.
    pub aborted: usize,
    /// The time that the server took to stop.
    pub duration: Duration,
}

impl Drained {
    /// Whether every request was answered.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.aborted == 0
    }
}

impl ServerHandle {
    /// The address that the server is bound to, with the actual port if port 0 was requested.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The current status of the server.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.counts.read()
    }

    /// The [health pages](super::ServerConfig::health) of this server, for another one, such as one at a port for probes.
    /// Empty without such pages.
    pub fn health_routes(&self) -> Router {
        self.shared.pages.as_ref().map(|pages| pages.router.clone()).unwrap_or_default()
    }

    /// Stops the server: further requests return 503, or are refused with the socket ([`DrainMode`](super::DrainMode)); running requests are finished, or aborted after the drain
    /// timeout; then the socket is closed. Repeated calls wait for the same end.
    ///
    /// # Cancel safety
    /// When the future is dropped, the server remains in the phase it has reached. Call the method again to
    /// continue.
    pub async fn stop(&self) -> Drained {
        let started = Instant::now();
        let in_flight = self.shared.counts.in_flight();
        self.shared.counts.advance(Phase::Draining);
        self.shared.drain.cancel();
        if self.shared.settings.drain_mode == DrainMode::Close {
            // The first requests of the last connections may not have arrived.
            let last = async {
                self.shared.closed.cancelled().await;
                while self.shared.counts.read().connections > 0 {
                    tokio::time::sleep(POLL).await;
                }
            };
            // Others continue below.
            drop(tokio::time::timeout(LAST_REPLIES, last).await);
        }
        let drained = tokio::time::timeout(self.shared.settings.drain_timeout, self.idle()).await;
        let aborted = match drained {
            Ok(()) => 0,
            Err(_) => self.shared.counts.in_flight(),
        };
        self.shared.counts.advance(Phase::Stopped);
        self.tasks.close();
        if aborted > 0 || tokio::time::timeout(LAST_REPLIES, self.tasks.wait()).await.is_err() {
            self.shared.abort.cancel();
            self.tasks.wait().await;
        }
        Drained { in_flight, aborted, duration: started.elapsed() }
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

/// The interval for checking whether a draining server is idle.
const POLL: Duration = Duration::from_millis(5);

/// The maximum time for writing the last replies after their calls have ended.
const LAST_REPLIES: Duration = Duration::from_secs(2);

impl std::fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerHandle").field("address", &self.address).finish_non_exhaustive()
    }
}
