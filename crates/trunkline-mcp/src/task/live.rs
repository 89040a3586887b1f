use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::MutexGuard;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use trunkline::protocol::excerpt;

use super::TaskRecord;
use crate::lock::Lock;
use crate::model::{InputRequest, TaskState};

/// A task whose call runs in this process, or that is about to be created.
#[derive(Debug)]
pub(crate) struct LiveTask {
    pub(crate) id: String,
    pub(crate) owner: Option<String>,
    ttl: Duration,
    created: SystemTime,
    state: Lock<State>,
    changed: Notify,
    cancelled: CancellationToken,
}

#[derive(Debug)]
struct State {
    updated: SystemTime,
    message: Option<String>,
    requests: BTreeMap<String, Pending>,
    /// The keys of all requests.
    keys: BTreeSet<String>,
    end: End,
}

/// A request that waits for a response.
#[derive(Debug)]
struct Pending {
    /// The key that the handler uses.
    key: String,
    request: InputRequest,
    respond: oneshot::Sender<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Running,
    /// The call has ended, and its outcome is being stored.
    Ending,
    Cancelled,
}

/// The reason why a task cannot send a request to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskError {
    DuplicateKey,
    TooManyRequests,
}

/// The maximum number of requests of a task to its client.
const MAX_REQUESTS: usize = 64;
/// The maximum length of a status message.
const MAX_MESSAGE_CHARS: usize = 500;

impl LiveTask {
    pub(crate) fn new(id: String, owner: Option<String>, ttl: Duration) -> Self {
        let created = SystemTime::now();
        let state = Lock::new(State {
            updated: created,
            message: None,
            requests: BTreeMap::new(),
            keys: BTreeSet::new(),
            end: End::Running,
        });
        let (changed, cancelled) = Default::default();
        Self { id, owner, ttl, created, state, changed, cancelled }
    }

    /// The current state.
    pub(crate) fn record(&self) -> TaskRecord {
        let state = self.state.lock();
        let now = match state.end {
            End::Cancelled => TaskState::Cancelled,
            End::Running | End::Ending if state.requests.is_empty() => TaskState::Working,
            End::Running | End::Ending => {
                let request = |(key, pending): (&String, &Pending)| {
                    (key.clone(), serde_json::to_value(&pending.request).unwrap_or_default())
                };
                let requests: Map<String, Value> = state.requests.iter().map(request).collect();
                TaskState::InputRequired(Value::from(requests).to_string().into())
            }
        };
        self.record_of(&state, now, state.message.clone())
    }

    /// Ends the task with a state that has not been visible yet, unless it was cancelled.
    pub(crate) fn end(&self, end: TaskState, message: Option<String>) -> TaskRecord {
        let mut state = self.state.lock();
        state.updated = SystemTime::now();
        if state.end == End::Cancelled {
            return self.record_of(&state, TaskState::Cancelled, state.message.clone());
        }
        state.end = End::Ending;
        self.record_of(&state, end, message)
    }

    fn record_of(&self, state: &State, now: TaskState, message: Option<String>) -> TaskRecord {
        TaskRecord {
            id: self.id.clone(),
            owner: self.owner.clone(),
            created: self.created,
            updated: state.updated,
            ttl: self.ttl,
            state: now,
            message,
        }
    }

    /// Sets the status message.
    pub(crate) fn set_message(&self, message: &str) {
        let mut state = self.state.lock();
        if state.end == End::Running && state.message.as_deref() != Some(message) {
            state.message = Some(excerpt(message, MAX_MESSAGE_CHARS).into_owned());
            self.notify(state);
        }
    }

    /// Cancels the task. One that has ended does not change.
    pub(crate) fn cancel(&self, message: &str) {
        let mut state = self.state.lock();
        if state.end == End::Running {
            state.end = End::Cancelled;
            state.message = Some(message.to_owned());
            self.notify(state);
            self.cancelled.cancel();
        }
    }

    /// Waits until the task is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Waits until the state has changed.
    ///
    /// # Cancel safety
    /// No change is lost when the future is dropped.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The response to a request. While it waits, the task requires input.
    ///
    /// A client never sees a key twice ("Task Update Requests"), so a handler that uses one again gets a new one.
    ///
    /// # Errors
    /// If the handler already waits for a request with this key, or the task has made too many requests.
    pub(crate) async fn ask(&self, key: &str, request: InputRequest) -> Result<Value, AskError> {
        let (_asking, response) = self.begin(key, request)?;
        match response.await {
            Ok(response) => Ok(response),
            // The request belongs to the task until it has a response.
            Err(_) => pending().await,
        }
    }

    fn begin(
        &self,
        key: &str,
        request: InputRequest,
    ) -> Result<(Asking<'_>, oneshot::Receiver<Value>), AskError> {
        let mut state = self.state.lock();
        if state.requests.values().any(|pending| pending.key == key) {
            return Err(AskError::DuplicateKey);
        }
        if state.keys.len() >= MAX_REQUESTS {
            return Err(AskError::TooManyRequests);
        }
        let mut unique = key.to_owned();
        for number in 2.. {
            if state.keys.insert(unique.clone()) {
                break;
            }
            unique = format!("{key}-{number}");
        }
        let (respond, response) = oneshot::channel();
        let pending = Pending { key: key.to_owned(), request, respond };
        state.requests.insert(unique.clone(), pending);
        self.notify(state);
        Ok((Asking { task: self, key: unique }, response))
    }

    /// Passes responses to the requests that wait for them. Others are ignored ("Task Update Requests").
    pub(crate) fn answer(&self, responses: BTreeMap<String, Map<String, Value>>) {
        let mut state = self.state.lock();
        let mut is_changed = false;
        for (key, response) in responses {
            if let Some(pending) = state.requests.remove(&key) {
                // This fails only if the handler has just withdrawn the request.
                drop(pending.respond.send(response.into()));
                is_changed = true;
            }
        }
        if is_changed && state.end == End::Running {
            self.notify(state);
        }
    }

    fn notify(&self, mut state: MutexGuard<'_, State>) {
        state.updated = SystemTime::now();
        drop(state);
        self.changed.notify_one();
    }
}

/// A handler that waits for a response. When it is dropped, the request is withdrawn.
struct Asking<'t> {
    task: &'t LiveTask,
    key: String,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut state = self.task.state.lock();
        if state.requests.remove(&self.key).is_some() {
            self.task.notify(state);
        }
    }
}
