//! The upstreams of a service.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::task::JoinHandle;
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
    names: Vec<UpstreamName>,
    /// In the order of the names.
    upstreams: RwLock<Vec<Arc<Upstream>>>,
    /// The tasks of the upstreams after the start. Locked while upstreams are replaced.
    running: tokio::sync::Mutex<Vec<Running>>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// The task of an upstream.
#[derive(Debug)]
struct Running {
    name: UpstreamName,
    end: CancellationToken,
    task: JoinHandle<()>,
}

/// The maximum time in which a replaced upstream ends.
const END_TIMEOUT: Duration = Duration::from_secs(10);

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
        let names = all.iter().map(|upstream| upstream.name.clone()).collect();
        let (upstreams, running) = (RwLock::new(all), tokio::sync::Mutex::default());
        let (closing, tasks) = (CancellationToken::new(), TaskTracker::new());
        Ok(Self(Arc::new(Inner { names, upstreams, running, closing, tasks })))
    }

    /// Adds the tools of all upstreams to a router, as [dynamic operations](Router::dynamic) under the names of the
    /// upstreams. A gateway can be added to one router.
    #[must_use]
    pub fn add_to(&self, router: Router) -> Router {
        self.upstreams().iter().fold(router, |router, upstream| {
            router.dynamic(upstream.name.as_str(), &upstream.operations)
        })
    }

    /// Connects to the upstreams, each in its own task, until [`stop`](Self::stop). A second call does nothing.
    ///
    /// # Panics
    /// Outside a tokio runtime with time and I/O enabled.
    pub fn start(&self) {
        // It is only locked after the start.
        let Ok(mut running) = self.0.running.try_lock() else { return };
        if running.is_empty() {
            running.extend(self.upstreams().into_iter().map(|upstream| self.0.run(upstream)));
        }
    }

    /// Replaces the configurations of upstreams with these names, in a task: each ends, and connects again with the new
    /// one. The others, their connections and their calls are not affected. Its tools remain offered until the new list
    /// has arrived. Unknown names are ignored. The gateway was [started](Self::start).
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn replace(&self, upstreams: impl IntoIterator<Item = (UpstreamName, UpstreamConfig)>) {
        let (inner, upstreams) = (Arc::clone(&self.0), upstreams.into_iter().collect::<Vec<_>>());
        let replace = async move {
            let mut running = inner.running.lock().await;
            for (name, config) in upstreams {
                inner.replace(&mut running, &name, config).await;
            }
        };
        let closing = self.0.closing.clone();
        self.0.tasks.spawn(async move {
            closing.run_until_cancelled(replace).await;
        });
    }

    /// Waits until each upstream was connected or has failed once, for at most `limit`.
    pub async fn attempted(&self, limit: Duration) {
        let all = async {
            for upstream in self.upstreams() {
                upstream.attempted().await;
            }
        };
        // The others are connected later.
        let _ = tokio::time::timeout(limit, all).await;
    }

    /// The names of the upstreams.
    pub fn names(&self) -> impl Iterator<Item = &UpstreamName> {
        self.0.names.iter()
    }

    /// The states of the upstreams.
    #[must_use]
    pub fn status(&self) -> Vec<UpstreamStatus> {
        self.upstreams().iter().map(|upstream| upstream.status()).collect()
    }

    /// Ends the connections, and waits for at most `limit`. Calls that are still running fail.
    pub async fn stop(&self, limit: Duration) {
        self.0.closing.cancel();
        self.0.tasks.close();
        if tokio::time::timeout(limit, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("some upstreams were not closed in time");
        }
    }

    pub(crate) fn upstream(&self, name: &str) -> Option<Arc<Upstream>> {
        self.upstreams().into_iter().find(|upstream| upstream.name.as_str() == name)
    }

    fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.0.upstreams.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Inner {
    fn run(&self, upstream: Arc<Upstream>) -> Running {
        let (name, end) = (upstream.name.clone(), self.closing.child_token());
        let task = self.tasks.spawn(upstream.run(end.clone()));
        Running { name, end, task }
    }

    async fn replace(&self, running: &mut [Running], name: &UpstreamName, config: UpstreamConfig) {
        let Some(running) = running.iter_mut().find(|running| running.name == *name) else {
            return;
        };
        running.end.cancel();
        // Its last operations must not replace those of the successor.
        if tokio::time::timeout(END_TIMEOUT, &mut running.task).await.is_err() {
            tracing::warn!(upstream = %name, "the upstream did not end in time");
        }
        let successor = {
            let mut upstreams = self.upstreams.write().unwrap_or_else(PoisonError::into_inner);
            let Some(upstream) = upstreams.iter_mut().find(|upstream| upstream.name == *name)
            else {
                return;
            };
            *upstream = Arc::new(upstream.successor(config));
            Arc::clone(upstream)
        };
        tracing::info!(upstream = %name, "upstream restarts with its new settings");
        *running = self.run(successor);
    }
}
