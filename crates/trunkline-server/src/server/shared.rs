//! What all connections of a server share.

use std::sync::Arc;

use http::Request;
#[cfg(feature = "tls")]
use http::uri::Scheme;
use hyper_util::server::conn::auto::Builder;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::config::ServerConfig;
#[cfg(feature = "tls")]
use super::tls::Tls;
use crate::status::Counts;

pub(super) struct Shared {
    pub(super) settings: ServerConfig,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
    pub(super) counts: Arc<Counts>,
    pub(super) builder: Builder<Tracked>,
    /// Cancelled when connections shall end as soon as their requests have.
    pub(super) drain: CancellationToken,
    /// Cancelled when they shall end at once.
    pub(super) cut: CancellationToken,
}

impl Shared {
    /// The request with the scheme of URLs that lead to this server, where that is not `http`: for
    /// handlers that tell clients such.
    #[cfg_attr(not(feature = "tls"), expect(unused_mut, reason = "without TLS, all is http"))]
    pub(super) fn marked<B>(&self, mut request: Request<B>) -> Request<B> {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            request.extensions_mut().insert(Scheme::HTTPS);
        }
        request
    }
}

/// Spawns the tasks that hyper starts on a server's tracker.
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
