//! Calls that run as tasks, independently of the requests that created them.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use trunkline::protocol::CallFuture;
use trunkline::{ErrorObject, Outcome, code};

use crate::lock::Lock;
use crate::model::TaskState;
use crate::session::random_id;
use crate::subscription::Subscribers;
use crate::task::{LiveTask, TaskConfig, TaskRecord, TaskStoreError};
use crate::task_group::TaskGroup;

/// The tasks of a server. Dropping it cancels those that run.
pub(super) struct Tasks(Arc<Shared>);

struct Shared {
    config: TaskConfig,
    subscribers: Arc<Subscribers>,
    live: Lock<HashMap<String, Arc<LiveTask>>>,
    slots: Lock<Slots>,
    closing: CancellationToken,
    detached: TaskGroup,
}

/// The number of running tasks.
#[derive(Debug, Default)]
struct Slots {
    total: usize,
    by_owner: HashMap<Option<String>, usize>,
}

/// A call that may become a task.
pub(super) struct PreparedTask {
    pub(super) task: Arc<LiveTask>,
    slot: Slot,
}

/// A part of the number of running tasks.
struct Slot {
    shared: Arc<Shared>,
    owner: Option<String>,
}

impl Tasks {
    /// Running tasks are cancelled when `closing` is.
    pub(super) fn new(
        config: TaskConfig,
        subscribers: Arc<Subscribers>,
        closing: &CancellationToken,
        detached: &TaskGroup,
    ) -> Self {
        let (live, slots) = Default::default();
        let (closing, detached) = (closing.child_token(), detached.clone());
        Self(Arc::new(Shared { config, subscribers, live, slots, closing, detached }))
    }

    /// Prepares a call of this owner for becoming a task.
    pub(super) fn prepare(&self, owner: Option<String>) -> Result<PreparedTask, ErrorObject> {
        let slot = self.0.slot(owner.clone()).ok_or_else(too_many_tasks)?;
        let no_random = || ErrorObject::internal(&"the system random number generator failed");
        let id = random_id().ok_or_else(no_random)?;
        let task = Arc::new(LiveTask::new(id, owner, self.0.config.ttl));
        Ok(PreparedTask { task, slot })
    }

    /// Creates a task. Its call continues in the background.
    pub(super) async fn start(
        &self,
        prepared: PreparedTask,
        call: CallFuture,
    ) -> Result<TaskRecord, TaskStoreError> {
        let (created, creation) = oneshot::channel();
        self.0.detached.spawn(Arc::clone(&self.0).run(prepared, call, created));
        creation.await.unwrap_or_else(|_| Err(TaskStoreError::Failed("the server stops".into())))
    }

    /// The running task with this id, if this owner has created it.
    pub(super) fn find_live(&self, id: &str, owner: Option<&str>) -> Option<Arc<LiveTask>> {
        let found = self.0.live.lock().get(id).cloned();
        found.filter(|task| task.owner.as_deref() == owner)
    }

    /// The current state of the task with this id, if this owner has created it.
    pub(super) async fn find(
        &self,
        id: &str,
        owner: Option<&str>,
    ) -> Result<Option<TaskRecord>, TaskStoreError> {
        if let Some(task) = self.find_live(id, owner) {
            return Ok(Some(task.record()));
        }
        let found = self.0.config.store.get(id).await?;
        Ok(found.filter(|task| task.owner.as_deref() == owner))
    }

    /// The members of a task.
    pub(super) fn members(&self, task: &TaskRecord) -> Bytes {
        self.0.members(task)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.closing.cancel();
    }
}

impl Shared {
    fn slot(self: &Arc<Self>, owner: Option<String>) -> Option<Slot> {
        let TaskConfig { running, running_per_principal, .. } = self.config;
        let mut slots = self.slots.lock();
        let of_owner = slots.by_owner.get(&owner).copied().unwrap_or_default();
        if slots.total >= running || of_owner >= running_per_principal {
            return None;
        }
        slots.total += 1;
        slots.by_owner.insert(owner.clone(), of_owner + 1);
        Some(Slot { shared: Arc::clone(self), owner })
    }

    /// Creates a task, runs its call to its end, and stores the outcome.
    async fn run(
        self: Arc<Self>,
        prepared: PreparedTask,
        call: CallFuture,
        created: oneshot::Sender<Result<TaskRecord, TaskStoreError>>,
    ) {
        let PreparedTask { task, slot } = prepared;
        let record = task.record();
        if let Err(error) = self.config.store.create(record.clone()).await {
            drop(created.send(Err(error)));
            return;
        }
        self.live.lock().insert(task.id.clone(), Arc::clone(&task));
        if created.send(Ok(record)).is_err() {
            task.cancel("The client has not received the task.");
        }
        let (state, message) = self.follow(&task, call).await;
        let record = self.store_end(task.end(state, message)).await;
        self.live.lock().remove(&task.id);
        drop(slot);
        self.notify(&record);
    }

    /// Runs a call until it ends or is cancelled, and publishes the changes of its task.
    async fn follow(&self, task: &LiveTask, call: CallFuture) -> (TaskState, Option<String>) {
        let limit = self.config.duration.min(self.config.ttl);
        let mut call = pin!(AssertUnwindSafe(call).catch_unwind());
        let mut deadline = pin!(sleep(limit));
        loop {
            tokio::select! {
                biased;
                () = task.cancelled() => return (TaskState::Cancelled, None),
                () = self.closing.cancelled() => task.cancel("The server has stopped."),
                outcome = &mut call => {
                    let outcome = outcome.map_or_else(
                        |_| Outcome::error(ErrorObject::internal(&"the call of a task panicked")),
                        |Ok(outcome)| outcome,
                    );
                    return self.end_of(&outcome);
                }
                () = &mut deadline => {
                    let data = json!({ "timeout_ms": limit.as_millis() as u64 });
                    let error = ErrorObject::new(code::TIMEOUT, "Task timed out");
                    return failed(&error.with_data(&data));
                }
                () = task.changed() => {
                    let record = task.record();
                    self.notify(&record);
                    if let Err(error) = self.config.store.update(record).await {
                        tracing::debug!(task = task.id, ?error, "a change of a task is not stored");
                    }
                }
            }
        }
    }

    fn end_of(&self, outcome: &Outcome) -> (TaskState, Option<String>) {
        match outcome.as_result() {
            Ok(result) if result.len() > self.config.result_bytes => {
                failed(&too_large(self.config.result_bytes))
            }
            Ok(result) => (TaskState::Completed(Bytes::copy_from_slice(result)), None),
            Err(error) => failed(error),
        }
    }

    /// Stores the end of a task. If the store has no space for its result, the task fails.
    async fn store_end(&self, mut record: TaskRecord) -> TaskRecord {
        let Err(error) = self.config.store.update(record.clone()).await else {
            return record;
        };
        let reason = match &error {
            TaskStoreError::Full => too_large(self.config.result_bytes),
            TaskStoreError::Failed(_) => ErrorObject::internal_error(&error),
        };
        (record.state, record.message) = failed(&reason);
        if let Err(error) = self.config.store.update(record.clone()).await {
            tracing::error!(task = record.id, ?error, "the end of a task is not stored");
        }
        record
    }

    fn notify(&self, record: &TaskRecord) {
        self.subscribers.notify_task(record);
    }

    fn members(&self, task: &TaskRecord) -> Bytes {
        let mut json = Vec::new();
        task.write_detailed(&mut json, self.config.poll_interval);
        json.into()
    }
}

/// The error of a call that cannot become a task.
pub(super) fn too_many_tasks() -> ErrorObject {
    let reason = "too many tasks are running; repeat the call when others have ended";
    ErrorObject::new(code::BUSY, "Server is busy").with_data(&json!({ "reason": reason }))
}

fn failed(error: &ErrorObject) -> (TaskState, Option<String>) {
    let mut json = Vec::new();
    error.write_to(&mut json);
    (TaskState::Failed(json.into()), Some(error.message().to_owned()))
}

fn too_large(limit: usize) -> ErrorObject {
    let reason = "the result is too large for a task; request less data";
    let data = json!({ "reason": reason, "limit_bytes": limit });
    ErrorObject::new(code::REPLY_TOO_LARGE, "Reply too large").with_data(&data)
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut slots = self.shared.slots.lock();
        slots.total -= 1;
        if let Some(count) = slots.by_owner.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                slots.by_owner.remove(&self.owner);
            }
        }
    }
}
