//! The upstreams of a service.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use trunkline::{DynamicNamespaces, Router};

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
    upstreams: RwLock<Vec<Arc<Upstream>>>,
    /// The upstreams that were removed, whose namespaces remain.
    removed: Mutex<Vec<Arc<Upstream>>>,
    /// The namespaces of the upstreams that are added later.
    namespaces: DynamicNamespaces,
    config: Arc<GatewayConfig>,
    approvals: Arc<Approvals>,
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

/// The maximum time in which a replaced or removed upstream ends.
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
            let (gateway, approvals) = (Arc::clone(&config), Arc::clone(&approvals));
            all.push(Arc::new(Upstream::new(name, upstream, gateway, approvals)));
        }
        Ok(Self(Arc::new(Inner {
            upstreams: RwLock::new(all),
            removed: Mutex::default(),
            namespaces: DynamicNamespaces::new(),
            config,
            approvals,
            running: tokio::sync::Mutex::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })))
    }

    /// Adds the tools of all upstreams to a router, as [dynamic operations](Router::dynamic) under the names of the
    /// upstreams, also of those that are [added](Self::change) later. A gateway can be added to one router.
    #[must_use]
    pub fn add_to(&self, router: Router) -> Router {
        let router = router.dynamic_namespaces(&self.0.namespaces);
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

    /// Changes upstreams, in a task. A name with a configuration is added, or replaced: it ends, and connects again with
    /// the new one; its tools remain offered until the new list has arrived. A name without one is removed: its tools are
    /// not offered any more, and its running calls fail. The others, their connections and their calls are not affected.
    /// The gateway was [started](Self::start), and the caller has checked that no other methods have the names of new
    /// upstreams as their prefix.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn change(
        &self,
        upstreams: impl IntoIterator<Item = (UpstreamName, Option<UpstreamConfig>)>,
    ) {
        let (inner, upstreams) = (Arc::clone(&self.0), upstreams.into_iter().collect::<Vec<_>>());
        let change = async move {
            let mut running = inner.running.lock().await;
            for (name, config) in upstreams {
                inner.change(&mut running, &name, config).await;
            }
        };
        let closing = self.0.closing.clone();
        self.0.tasks.spawn(async move {
            closing.run_until_cancelled(change).await;
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
    #[must_use]
    pub fn names(&self) -> Vec<UpstreamName> {
        self.upstreams().iter().map(|upstream| upstream.name.clone()).collect()
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

    async fn change(
        &self,
        running: &mut Vec<Running>,
        name: &UpstreamName,
        config: Option<UpstreamConfig>,
    ) {
        if let Some(index) = running.iter().position(|running| running.name == *name) {
            let Running { end, mut task, .. } = running.swap_remove(index);
            end.cancel();
            // Its last operations must not replace those of the successor.
            if tokio::time::timeout(END_TIMEOUT, &mut task).await.is_err() {
                tracing::warn!(upstream = %name, "the upstream did not end in time");
                task.abort();
            }
        }
        let Some(config) = config else { return self.remove(name) };
        let (upstream, is_new) = self.put(name, config);
        match is_new {
            true => tracing::info!(upstream = %name, "upstream added"),
            false => tracing::info!(upstream = %name, "upstream restarts with its new settings"),
        }
        running.push(self.run(upstream));
    }

    /// Puts an upstream with this configuration in the place of its predecessor, or adds it. Returns whether it is new.
    fn put(&self, name: &UpstreamName, config: UpstreamConfig) -> (Arc<Upstream>, bool) {
        let mut upstreams = self.upstreams.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(upstream) = upstreams.iter_mut().find(|upstream| upstream.name == *name) {
            *upstream = Arc::new(upstream.successor(config));
            return (Arc::clone(upstream), false);
        }
        let removed = {
            let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
            let index = removed.iter().position(|upstream| upstream.name == *name);
            index.map(|index| removed.swap_remove(index))
        };
        let upstream = match removed {
            Some(removed) => removed.successor(config),
            None => {
                let (gateway, approvals) = (Arc::clone(&self.config), Arc::clone(&self.approvals));
                let mut upstream = Upstream::new(name.clone(), config, gateway, approvals);
                upstream.operations = self.namespaces.add(name.as_str());
                upstream
            }
        };
        let upstream = Arc::new(upstream);
        upstreams.push(Arc::clone(&upstream));
        (upstream, true)
    }

    /// Removes an upstream that has ended, and its operations.
    fn remove(&self, name: &UpstreamName) {
        let upstream = {
            let mut upstreams = self.upstreams.write().unwrap_or_else(PoisonError::into_inner);
            let index = upstreams.iter().position(|upstream| upstream.name == *name);
            index.map(|index| upstreams.remove(index))
        };
        let Some(upstream) = upstream else { return };
        if let Err(error) = upstream.operations.replace(Router::new()) {
            tracing::error!(upstream = %name, %error, "the tools of the removed upstream are still offered");
        }
        tracing::info!(upstream = %name, "upstream removed");
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).push(upstream);
    }
}
