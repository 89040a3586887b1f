use std::sync::Arc;
use std::time::Duration;

use super::{InMemoryTasks, TaskStore};

/// Configuration of tasks.
#[derive(Debug, Clone)]
pub struct TaskConfig {
    /// The store. Default: [`InMemoryTasks`] with its defaults.
    pub store: Arc<dyn TaskStore>,
    /// The time after which a call becomes a task. A call that ends earlier returns its result at once. If it is
    /// zero, every call that waits becomes a task. Default 500 ms.
    pub after: Duration,
    /// Maximum duration of a task, at most [`ttl`](Self::ttl). Then its call is dropped, and the task fails with -32004.
    /// The timeout of calls does not apply to tasks. Default 30 minutes.
    pub duration: Duration,
    /// Time for which a task is kept, from its creation. Default 1 hour.
    pub ttl: Duration,
    /// The interval at which clients are asked to poll. Default 1 s.
    pub poll_interval: Duration,
    /// Maximum number of running tasks. A call above it does not become a task. If the tool
    /// [requires](super::TaskSupport::Required) tasks, the call fails: a result with `isError`. Default 256.
    pub running: usize,
    /// Maximum number of running tasks of one principal, or of all callers without one. As for
    /// [`running`](Self::running) otherwise. Default 32.
    pub running_per_principal: usize,
    /// Maximum size of a result in bytes. A task with a larger one fails with -32006. Default 1 MiB.
    pub result_bytes: usize,
}

impl Default for TaskConfig {
    fn default() -> Self {
        Self {
            store: Arc::new(InMemoryTasks::default()),
            after: Duration::from_millis(500),
            duration: Duration::from_secs(30 * 60),
            ttl: Duration::from_secs(60 * 60),
            poll_interval: Duration::from_secs(1),
            running: 256,
            running_per_principal: 32,
            result_bytes: 1 << 20,
        }
    }
}
