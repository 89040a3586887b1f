//! Requests to a client of the stateless era: the call ends with the requests, and the client repeats it with the
//! responses (2026-07-28, "Multi Round-Trip Requests").

use std::collections::{BTreeMap, BTreeSet};
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use serde_json::Value;
use tokio::time::sleep;
use trunkline::Outcome;
use trunkline::layers::timeout::ClientWait;
use trunkline::protocol::CallFuture;

use super::error::PeerError;
use crate::capabilities::ClientCapabilities;
use crate::lock::Lock;
use crate::model::{InputRequest, InputRequests};
use crate::task::{AskError, LiveTask};

/// The responses that a client has sent so far, and the requests for further ones.
#[derive(Debug)]
pub(crate) struct Rounds {
    pub(crate) capabilities: ClientCapabilities,
    /// The number of the client, if it has a channel.
    pub(super) session: Option<u64>,
    responses: BTreeMap<String, Value>,
    /// The keys of the responses that the call has received.
    used: Lock<BTreeSet<String>>,
    progress: Lock<Progress>,
    /// Wakes the call when its progress is changed by another task.
    changed: AtomicWaker,
    /// The task that the call may become.
    task: OnceLock<Arc<LiveTask>>,
    /// Ends the call when it needs further responses, and suspends its timeout while it is a task.
    pub(crate) wait: ClientWait,
}

#[derive(Debug, Default)]
struct Progress {
    requests: InputRequests,
    /// Whether the call has become a task, which waits for its responses.
    is_task: bool,
}

/// The end of the part of a call for which its client waits.
pub(crate) enum Ended {
    Outcome(Outcome),
    /// The call needs the responses to these requests.
    Requests(InputRequests),
    /// The call has become a task.
    Task(CallFuture),
}

enum Answer<'r> {
    Response(Value),
    /// The task waits for the response.
    Task(&'r LiveTask),
    /// The call ends with the request.
    Later,
}

impl Rounds {
    pub(crate) fn new(
        capabilities: ClientCapabilities,
        session: Option<u64>,
        responses: BTreeMap<String, Value>,
    ) -> Self {
        let (used, progress, changed, task, wait) = Default::default();
        Self { capabilities, session, responses, used, progress, changed, task, wait }
    }

    /// The keys of the responses.
    pub(super) fn response_keys(&self) -> impl Iterator<Item = &str> {
        self.responses.keys().map(String::as_str)
    }

    /// Sets the task that the call may become.
    pub(crate) fn set_task(&self, task: &Arc<LiveTask>) {
        // It is set once, before the call runs.
        drop(self.task.set(Arc::clone(task)));
    }

    /// Makes the call a task, unless it waits for responses or cannot become one.
    pub(super) fn start_task(&self) {
        let mut progress = self.progress.lock();
        if self.task.get().is_some() && progress.requests.is_empty() {
            progress.is_task = true;
            self.changed.wake();
        }
    }

    /// The responses that the call has received.
    pub(crate) fn used_responses(&self) -> BTreeMap<String, Value> {
        let used = self.used.lock();
        let responses = self.responses.iter().filter(|(key, _)| used.contains(*key));
        responses.map(|(key, response)| (key.clone(), response.clone())).collect()
    }

    /// The response to a request. Without one, a task waits for it. Otherwise this never completes, and the call ends
    /// with the request. The same is true if the handler has received the response before: it sends the request again,
    /// since it needs another response.
    pub(super) async fn ask(&self, key: &str, request: InputRequest) -> Result<Value, PeerError> {
        match self.response_or_task(key, &request)? {
            Answer::Response(response) => Ok(response),
            Answer::Task(task) => task.ask(key, request).await.map_err(|error| match error {
                AskError::DuplicateKey => PeerError::DuplicateKey { key: key.to_owned() },
                AskError::TooManyRequests => PeerError::Busy,
            }),
            Answer::Later => pending().await,
        }
    }

    /// Without a response and a task, adds the request to those with which the call ends.
    fn response_or_task(&self, key: &str, request: &InputRequest) -> Result<Answer<'_>, PeerError> {
        let mut progress = self.progress.lock();
        if let Some(response) = self.take_response(key, progress.is_task) {
            return Ok(Answer::Response(response));
        }
        if let Some(task) = self.task.get().filter(|_| progress.is_task) {
            return Ok(Answer::Task(task));
        }
        if progress.requests.insert(key.to_owned(), request.clone()).is_some() {
            return Err(PeerError::DuplicateKey { key: key.to_owned() });
        }
        self.wait.end_round();
        self.changed.wake();
        Ok(Answer::Later)
    }

    /// A response that has not been received. In a round, one that was is discarded.
    fn take_response(&self, key: &str, is_task: bool) -> Option<Value> {
        let response = self.responses.get(key)?;
        let mut used = self.used.lock();
        if used.insert(key.to_owned()) {
            return Some(response.clone());
        }
        if !is_task {
            used.remove(key);
        }
        None
    }
}

/// Runs a call until it ends, waits for responses, or becomes a task, which it does at the latest after `task_after`.
pub(crate) async fn run_round(
    mut call: CallFuture,
    rounds: &Rounds,
    task_after: Option<Duration>,
) -> Ended {
    let mut timer = task_after.map(|after| Box::pin(sleep(after)));
    let ended = poll_fn(|cx| {
        rounds.changed.register(cx.waker());
        let polled = Pin::new(&mut call).poll(cx);
        if let Poll::Ready(Ok(outcome)) = polled
            && !rounds.wait.has_ended_round()
        {
            return Poll::Ready(Some(Ended::Outcome(outcome)));
        }
        // A timer without a duration is not ready in its first poll.
        let is_due = task_after.is_some_and(|after| after.is_zero())
            || timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready());
        let mut progress = rounds.progress.lock();
        if !progress.requests.is_empty() {
            return Poll::Ready(Some(Ended::Requests(std::mem::take(&mut progress.requests))));
        }
        progress.is_task |= is_due;
        if progress.is_task { Poll::Ready(None) } else { Poll::Pending }
    });
    ended.await.unwrap_or(Ended::Task(call))
}
