use std::collections::BTreeSet;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use trunkline::client::Error as CallError;

use super::info::{TaskCallback, TaskInfo, TaskStatus};
use crate::client::client::Client;
use crate::client::connection::RequestParts;
use crate::client::error::Error;
use crate::client::handler::ClientHandler;
use crate::client::input::{self, InputResponses};
use crate::client::listener;
use crate::client::message::Params;
use crate::client::options::CallOptions;
use crate::lock::Lock;
use crate::model::{InputRequests, Received, ToolResult};
use crate::on_drop::OnDrop;
use crate::protocol::method;

/// A task of the server: a call that continues in the background. Clones are the same task.
///
/// Dropping it has no effect on the task, which [`Client::task`] finds again by its id.
#[derive(Clone)]
pub struct Task {
    client: Client,
    id: Arc<str>,
    /// The handler of the call.
    handler: Option<Arc<dyn ClientHandler>>,
    created: Option<Arc<TaskInfo>>,
    /// The keys of the requests that were answered. A server uses each for one request only.
    answered: Arc<Lock<BTreeSet<String>>>,
}

/// The interval for polling, if the server names none, and its limits, whatever the server names.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(60));
/// The interval for polling while the server notifies of changes.
const POLL_WITH_NOTIFICATIONS: Duration = Duration::from_secs(60);
/// The maximum number of polls in succession that fail.
const MAX_FAILURES: usize = 5;
/// The time limit for cancelling a task whose caller has stopped waiting.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

impl Client {
    /// The task with this id, such as one that an earlier process has stored. No request is sent.
    #[must_use]
    pub fn task(&self, id: &str) -> Task {
        let answered = Arc::default();
        Task { client: self.clone(), id: id.into(), handler: None, created: None, answered }
    }
}

impl Task {
    /// The task that a result describes.
    pub(in crate::client) fn created(
        client: &Client,
        result: Box<RawValue>,
        handler: Option<Arc<dyn ClientHandler>>,
    ) -> Result<Self, Error> {
        let info = TaskInfo::read(result, true)
            .map_err(|reason| Error::malformed(method::TOOLS_CALL, reason))?;
        Ok(Self { created: Some(Arc::new(info.clone())), handler, ..client.task(&info.id) })
    }

    /// Sets the handler of the task's requests. Default: that of [`CallOptions`] for the call, or else that of the
    /// configuration.
    #[must_use]
    pub fn with_handler(self, handler: Arc<dyn ClientHandler>) -> Self {
        Self { handler: Some(handler), ..self }
    }

    /// The id, with which the task can be found again.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The state at its creation, if this client has created it.
    #[must_use]
    pub fn first_info(&self) -> Option<&TaskInfo> {
        self.created.as_deref()
    }

    /// Requests the state.
    ///
    /// # Errors
    /// When the request fails. For a task that does not exist, or no longer, the code is -32602.
    pub async fn info(&self) -> Result<TaskInfo, Error> {
        const METHOD: &str = method::TASKS_GET;
        let result = self.request(METHOD, None).await?;
        let info = TaskInfo::read(result, false);
        let info = info.map_err(|reason| Error::malformed(METHOD, reason))?;
        match *info.id == *self.id {
            true => Ok(info),
            false => Err(Error::malformed(METHOD, "`taskId` of another task")),
        }
    }

    /// Requests cancellation. The server decides whether, and when, the task ends.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn cancel(&self) -> Result<(), Error> {
        self.request(method::TASKS_CANCEL, None).await.map(drop)
    }

    /// Answers the requests of a state with the handler of the client, except those that were answered before. Returns
    /// whether there were any.
    ///
    /// # Errors
    /// When the handler does not provide the input, or the request fails.
    pub async fn answer(&self, info: &TaskInfo) -> Result<bool, Error> {
        let TaskStatus::InputRequired(requests) = &info.status else { return Ok(false) };
        let new: InputRequests = {
            let answered = self.answered.lock();
            let new = requests.iter().filter(|(key, _)| !answered.contains(*key));
            new.map(|(key, request)| (key.clone(), request.clone())).collect()
        };
        if new.is_empty() {
            return Ok(false);
        }
        let answers =
            input::answers(&self.client.core, method::TASKS_GET, new, self.handler.as_ref());
        let answers = answers.await?;
        self.respond(answers).await.map(|()| true)
    }

    /// Sends answers to requests of the task, by their keys. [`answer`](Self::answer) obtains them from the handler.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn respond(&self, responses: InputResponses) -> Result<(), Error> {
        let keys: Vec<String> = responses.keys().cloned().collect();
        self.request(method::TASKS_UPDATE, Some(responses)).await?;
        self.answered.lock().extend(keys);
        Ok(())
    }

    /// Waits for the result of the call, answers requests of the task with the handler, and passes each new state to
    /// `callback`. The client polls, and subscribes to changes of the task if the server supports it.
    ///
    /// # Errors
    /// The error of the call if it fails, or [`Error::TaskCancelled`]; also when requests fail repeatedly, the handler
    /// does not provide the input, or the task has not ended within
    /// [`task_timeout`](super::super::McpClientConfig::task_timeout).
    ///
    /// # Cancel safety
    /// Dropping the future has no effect on the task.
    pub async fn wait(
        &self,
        callback: Option<&TaskCallback>,
    ) -> Result<Received<ToolResult>, Error> {
        let (opened, changed) = (AtomicBool::new(false), Notify::new());
        let after = self.client.core.inbox().config.task_timeout;
        let subscribed = async {
            self.subscribe(&opened, &changed).await;
            pending().await
        };
        let ending = async {
            tokio::select! {
                biased;
                result = self.follow(callback, &opened, &changed) => result,
                never = subscribed => never,
            }
        };
        let timed_out = |_| Err(self.client.core.connection.link.timed_out(after).into());
        timeout(after, ending).await.unwrap_or_else(timed_out)
    }

    /// Waits for the result. The task is cancelled if it has not ended when this fails or is dropped.
    pub(in crate::client) async fn wait_or_cancel(
        &self,
        callback: Option<TaskCallback>,
    ) -> Result<Received<ToolResult>, Error> {
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        let _cancel = OnDrop::new(move || {
            // Outside a runtime, the client ends as well.
            if !ended.load(Ordering::Relaxed) && Handle::try_current().is_ok() {
                self.cancel_later();
            }
        });
        let callback = TaskCallback::new(move |info: TaskInfo| {
            has_ended.store(info.status.is_terminal(), Ordering::Relaxed);
            if let Some(callback) = &callback {
                callback.call(info);
            }
        });
        self.wait(Some(&callback)).await
    }

    fn cancel_later(&self) {
        let task = self.clone();
        // It may be the last request of a client that is being closed.
        self.client.core.inbox().tasks.spawn_to_end(async move {
            if !matches!(timeout(CANCEL_TIMEOUT, task.cancel()).await, Ok(Ok(()))) {
                tracing::debug!(id = task.id(), "cannot cancel a task");
            }
        });
    }

    /// Polls until the task has ended.
    async fn follow(
        &self,
        callback: Option<&TaskCallback>,
        opened: &AtomicBool,
        changed: &Notify,
    ) -> Result<Received<ToolResult>, Error> {
        let config = &self.client.core.inbox().config;
        let mut states = self.client.core.inbox().task_states.receive(&self.id);
        let (mut rounds, mut failures) = (0, 0);
        let mut interval = self.created.as_ref().and_then(|info| info.poll_interval);
        if let (Some(callback), Some(info)) = (callback, &self.created) {
            callback.call(TaskInfo::clone(info));
        }
        let mut is_first = self.created.is_none();
        loop {
            let (min, max) = POLL_INTERVALS;
            let polling = interval.unwrap_or(POLL_INTERVAL).clamp(min, max);
            let pause = match opened.load(Ordering::Relaxed) {
                _ if std::mem::take(&mut is_first) => Duration::ZERO,
                true => polling.max(POLL_WITH_NOTIFICATIONS),
                false => polling,
            };
            let polled = tokio::select! {
                biased;
                Ok(()) = states.changed() => match states.borrow_and_update().clone() {
                    Some(info) => Ok(info),
                    None => continue,
                },
                // Changes may have been missed.
                () = changed.notified() => self.info().await,
                () = sleep(pause) => self.info().await,
            };
            let info = match polled {
                Ok(info) => info,
                Err(error) if may_pass(&error) && failures < MAX_FAILURES => {
                    tracing::debug!(%error, "cannot poll a task");
                    failures += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            failures = 0;
            interval = info.poll_interval;
            if let Some(callback) = callback {
                callback.call(info.clone());
            }
            if self.answer(&info).await? {
                rounds += 1;
                if rounds > config.max_rounds {
                    return Err(Error::TooManyRounds(config.max_rounds));
                }
            }
            match info.status {
                TaskStatus::Working | TaskStatus::InputRequired(_) => {}
                TaskStatus::Completed(result) => {
                    return Received::read(result)
                        .map_err(|error| Error::malformed(method::TOOLS_CALL, error));
                }
                TaskStatus::Failed(error) => return Err(CallError::Application(error).into()),
                TaskStatus::Cancelled => {
                    return Err(Error::TaskCancelled { id: info.id, message: info.message });
                }
            }
        }
    }

    /// Subscribes to changes of the task, until the server ends the subscription.
    async fn subscribe(&self, opened: &AtomicBool, changed: &Notify) {
        let core = &self.client.core;
        let session = core.session();
        if !session.is_modern() {
            return;
        }
        let set = |is_open| {
            opened.store(is_open, Ordering::Relaxed);
            changed.notify_one();
        };
        let ended =
            listener::subscribe(core, &session, json!({ "taskIds": [*self.id] }), |honoured| {
                if honoured.task_ids.iter().any(|id| **id == *self.id) {
                    set(true);
                }
            });
        if let Err(error) = ended.await {
            tracing::debug!(%error, "no notifications of the changes of a task");
        }
        if opened.load(Ordering::Relaxed) {
            set(false);
        }
    }

    async fn request(
        &self,
        method: &'static str,
        input_responses: Option<InputResponses>,
    ) -> Result<Box<RawValue>, Error> {
        let params = Params { task_id: Some(&self.id), input_responses, ..Params::default() };
        let options = CallOptions { handler: self.handler.clone(), ..CallOptions::default() };
        let mut parts = RequestParts { options, ..RequestParts::of(params) };
        Ok(self.client.core.request(method, &mut parts).await?.result)
    }
}

debug_fields!(Task: id);

/// Whether a request may succeed later.
fn may_pass(error: &Error) -> bool {
    matches!(error, Error::Request(_)) && error.is_temporary()
}
