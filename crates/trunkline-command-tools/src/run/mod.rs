//! Processes of tools, under limits.

mod cgroup;
mod error;
mod pipes;
mod process;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use error::RunError;
pub(crate) use tool::Tool;

use crate::config::{Launcher, ToolConfig};
use crate::json_text::normalize;
use cgroup::CgroupParent;
use process::Process;

/// The mechanism that limits the number of processes of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessBound {
    /// None: no launcher is configured, or the service runs as root and cannot create cgroups.
    Nothing,
    /// `RLIMIT_NPROC`, which counts all processes of the service's user.
    Rlimit,
    /// A cgroup for each run. It also ends processes that have left the process group of the tool.
    ///
    /// On cgroups of version 2, the service needs a unit of systemd that is delegated to it
    /// (`Delegate=pids`) and keeps it in a separate cgroup (`DelegateSubgroup=main`).
    Cgroup,
}

/// The state shared by all runs of a folder.
#[derive(Debug)]
pub(crate) struct Runner {
    config: ToolConfig,
    permits: Arc<Semaphore>,
    /// The running processes, which outlive dropped calls by the grace period.
    tasks: TaskTracker,
    cgroups: Option<CgroupParent>,
}

impl Runner {
    pub(crate) fn new(config: ToolConfig) -> Self {
        // Only launchers enter cgroups.
        let cgroups = config.launcher.as_ref().and_then(|_| CgroupParent::find());
        let permits = Arc::new(Semaphore::new(config.concurrency.min(Semaphore::MAX_PERMITS)));
        let runner = Self { config, permits, tasks: TaskTracker::new(), cgroups };
        if runner.config.launcher.is_none() {
            tracing::warn!(
                "no launcher is configured; tools run without limits of CPU time and memory"
            );
        } else if runner.process_bound() == ProcessBound::Nothing {
            tracing::warn!(
                "the number of processes of a tool is not limited: \
                 this process runs as root and cannot create cgroups"
            );
        }
        runner
    }

    pub(crate) fn config(&self) -> &ToolConfig {
        &self.config
    }

    pub(crate) fn process_bound(&self) -> ProcessBound {
        match self.config.launcher {
            None => ProcessBound::Nothing,
            Some(_) if self.cgroups.is_some() => ProcessBound::Cgroup,
            Some(_) if rustix::process::geteuid().is_root() => ProcessBound::Nothing,
            Some(_) => ProcessBound::Rlimit,
        }
    }

    /// Waits until no process of a tool is running.
    pub(crate) async fn idle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    /// The maximum duration of a call of a tool.
    pub(crate) fn call_timeout(&self, tool: &Tool) -> Duration {
        let ToolConfig { max_wait, grace, .. } = self.config;
        let own = tool.manifest.timeout + process::MAX_TERMINATION_TIME;
        own.saturating_add(max_wait).saturating_add(grace)
    }

    /// Runs a tool.
    ///
    /// # Cancel safety
    /// Dropping the future ends the processes of the tool.
    pub(crate) async fn run(
        &self,
        tool: &Arc<Tool>,
        arguments: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RunError> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = timeout(self.config.max_wait, permit);
        // The semaphore is never closed.
        let Ok(Ok(permit)) = permit.await else {
            return Err(RunError::Busy { concurrency: self.config.concurrency });
        };
        let process = Process {
            tool: Arc::clone(tool),
            launch: self.launch()?,
            path: self.config.path.clone(),
            grace: self.config.grace,
        };
        let input = normalize(arguments.map_or("{}", RawValue::get)) + "\n";
        let cancel = CancellationToken::new();
        let _dropped = cancel.clone().drop_guard();
        let running = self.tasks.spawn(async move {
            let _permit = permit;
            process.run(input, &cancel).await
        });
        running.await.unwrap_or_else(|error| Err(RunError::NotStarted(error.into())))
    }

    /// The launch of a process, if there is a launcher.
    fn launch(&self) -> Result<Option<process::Launch>, RunError> {
        let Some(Launcher { program, arguments }) = &self.config.launcher else {
            return Ok(None);
        };
        let limits = self.config.limits;
        let cgroup = match &self.cgroups {
            Some(parent) => Some(parent.create(limits.processes).map_err(RunError::NotStarted)?),
            None => None,
        };
        let program = program.clone();
        Ok(Some(process::Launch { program, arguments: arguments.clone(), limits, cgroup }))
    }
}
