//! The upstreams of a service.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline::Router;

use crate::approvals::{Approvals, ApprovalsError};
use crate::config::{GatewayConfig, UpstreamConfig};
use crate::name::UpstreamName;
use crate::status::UpstreamStatus;
use crate::upstream::Upstream;

/// Connections to other MCP servers, whose tools are operations of a service. Clones share the connections.
#[derive(Debug, Clone)]
pub struct Gateway(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    upstreams: Vec<Arc<Upstream>>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Gateway {
    /// A gateway to these upstreams, which are not connected yet. If a name occurs more than once, the last one counts.
    /// Reads the file of approvals. Blocks.
    ///
    /// # Errors
    /// When the file of approvals cannot be read, or is invalid.
    pub fn new(
        upstreams: impl IntoIterator<Item = (UpstreamName, UpstreamConfig)>,
        config: GatewayConfig,
    ) -> Result<Self, ApprovalsError> {
        let approvals = Arc::new(Approvals::open(config.approvals.clone())?);
        let config = Arc::new(config);
        let mut all: Vec<Arc<Upstream>> = Vec::new();
        for (name, upstream) in upstreams {
            all.retain(|other| other.name != name);
            let (config, approvals) = (Arc::clone(&config), Arc::clone(&approvals));
            all.push(Arc::new(Upstream::new(name, upstream, config, approvals)));
        }
        let (closing, tasks) = (CancellationToken::new(), TaskTracker::new());
        Ok(Self(Arc::new(Inner { upstreams: all, closing, tasks })))
    }

    /// Adds the tools of all upstreams to a router, as [dynamic operations](Router::dynamic) under the names of the
    /// upstreams. A gateway can be added to one router.
    #[must_use]
    pub fn add_to(&self, router: Router) -> Router {
        let upstreams = self.0.upstreams.iter();
        upstreams.fold(router, |router, upstream| {
            router.dynamic(upstream.name.as_str(), &upstream.operations)
        })
    }

    /// Connects to the upstreams, each in its own task, until [`stop`](Self::stop).
    ///
    /// # Panics
    /// Outside a tokio runtime with time and I/O enabled.
    pub fn start(&self) {
        for upstream in &self.0.upstreams {
            let task = Arc::clone(upstream).run(self.0.closing.clone());
            self.0.tasks.spawn(task);
        }
    }

    /// Waits until each upstream was connected or has failed once, for at most `limit`.
    pub async fn attempted(&self, limit: Duration) {
        let all = async {
            for upstream in &self.0.upstreams {
                upstream.attempted().await;
            }
        };
        // The others are connected later.
        let _ = tokio::time::timeout(limit, all).await;
    }

    /// The names of the upstreams.
    pub fn names(&self) -> impl Iterator<Item = &UpstreamName> {
        self.0.upstreams.iter().map(|upstream| &upstream.name)
    }

    /// The states of the upstreams.
    #[must_use]
    pub fn status(&self) -> Vec<UpstreamStatus> {
        self.0.upstreams.iter().map(|upstream| upstream.status()).collect()
    }

    /// Ends the connections, and waits for at most `limit`. Calls that are still running fail.
    pub async fn stop(&self, limit: Duration) {
        self.0.closing.cancel();
        self.0.tasks.close();
        if tokio::time::timeout(limit, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("some upstreams were not closed in time");
        }
    }

    pub(crate) fn upstream(&self, name: &str) -> Option<&Arc<Upstream>> {
        self.0.upstreams.iter().find(|upstream| upstream.name.as_str() == name)
    }
}
