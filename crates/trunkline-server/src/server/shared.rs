//! The state shared by all connections of a server.

use std::sync::Arc;

use http::Request;
#[cfg(feature = "tls")]
use http::uri::Scheme;
use hyper_util::server::conn::auto::Builder;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::config::{DrainMode, ServerConfig};
use super::health::Pages;
#[cfg(feature = "tls")]
use super::tls::Tls;
use crate::status::{Counts, Phase};

pub(super) struct Shared {
    pub(super) settings: ServerConfig,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
    pub(super) counts: Arc<Counts>,
    /// The health pages, if there are any.
    pub(super) pages: Option<Pages>,
    pub(super) builder: Builder<TrackedExecutor>,
    /// Cancelled when connections must end after their current requests.
    pub(super) drain: CancellationToken,
    /// Cancelled when connections must end immediately.
    pub(super) abort: CancellationToken,
    /// Cancelled when no more connections are accepted.
    pub(super) closed: CancellationToken,
}

impl Shared {
    /// Whether requests are refused because the server is stopping.
    pub(super) fn is_refusing(&self) -> bool {
        self.settings.drain_mode == DrainMode::Refuse && self.counts.phase() >= Phase::Draining
    }

    /// Adds the scheme of the server to the extensions of a request if it is not `http`, for handlers that
    /// create URLs.
    #[cfg_attr(not(feature = "tls"), expect(unused_mut, reason = "without TLS, all is http"))]
    pub(super) fn with_scheme<B>(&self, mut request: Request<B>) -> Request<B> {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            request.extensions_mut().insert(Scheme::HTTPS);
        }
        request
    }
}

/// Spawns hyper's tasks on the task tracker of the server.
#[derive(Debug, Clone)]
pub(super) struct TrackedExecutor(pub(super) TaskTracker);

impl<F> hyper::rt::Executor<F> for TrackedExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}
