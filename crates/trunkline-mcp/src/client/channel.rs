//! Messages of all requests over one channel: stdio, HTTP+SSE, or a stream of bytes.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline::Id;
use trunkline::client::frame::Key;
use trunkline::client::{Error as CallError, Failure, ProtocolError, Response, TransportError};

use super::error::Error;
use super::inbox::Inbox;
use super::last_lines::LastLines;
use super::message::{Incoming, Notification, result, split};
use super::request::{Answer, Outgoing};
use crate::lock::Lock;
use crate::model::{CancelledParams, notification};
use crate::on_drop::OnDrop;
use crate::protocol::method;

/// The maximum number of requests that wait for responses.
const IN_FLIGHT: usize = 128;
/// The time limit for cancelling a request.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of cancelled requests to remember, so that their late responses are ignored.
const MAX_ABANDONED: usize = 1_024;

/// A channel to a server. Clones share it.
#[derive(Clone)]
pub(super) struct Channel(Arc<Shared>);

struct Shared {
    target: String,
    inbox: Arc<Inbox>,
    sender: Box<dyn Sender>,
    /// The last output of the server, if it is a process.
    output: Option<LastLines>,
    replies: Lock<Replies>,
    in_flight: Semaphore,
    ended: CancellationToken,
}

#[derive(Default)]
struct Replies {
    waiting: HashMap<i64, oneshot::Sender<Result<Response, CallError>>>,
    abandoned: VecDeque<i64>,
    /// The reason why the channel has ended.
    failure: Option<Failure>,
}

/// Sends messages to the server.
pub(super) trait Sender: Send + Sync {
    /// Sends a message. Returns when it is sent, or the transport has accepted it.
    fn send(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>>;
}

impl Channel {
    pub(super) fn new(
        target: String,
        inbox: Arc<Inbox>,
        sender: Box<dyn Sender>,
        output: Option<LastLines>,
    ) -> Self {
        Self(Arc::new(Shared {
            target,
            inbox,
            sender,
            output,
            replies: Lock::default(),
            in_flight: Semaphore::new(IN_FLIGHT),
            ended: CancellationToken::new(),
        }))
    }

    pub(super) fn target(&self) -> &str {
        &self.0.target
    }

    pub(super) fn output(&self) -> Option<&LastLines> {
        self.0.output.as_ref()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Completes when the channel has ended.
    pub(super) async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    /// Sends a request, and waits for its result.
    ///
    /// # Cancel safety
    /// Dropping the future sends `notifications/cancelled`, except for the first requests.
    pub(super) async fn request(&self, request: &Outgoing<'_>) -> Result<Answer, Error> {
        // The semaphore is never closed. Requests without an end do not count.
        let _permit = match request.is_open_ended {
            true => None,
            false => self.0.in_flight.acquire().await.ok(),
        };
        let (sender, response) = oneshot::channel();
        {
            let mut replies = self.0.replies.lock();
            if let Some(failure) = &replies.failure {
                return Err(failure.clone().into());
            }
            replies.waiting.insert(request.id, sender);
        }
        let is_first = matches!(request.method, method::INITIALIZE | method::DISCOVER);
        let cancel = OnDrop::new(|| self.cancel(request.id, is_first));
        self.0.sender.send(request.body.clone()).await?;
        let response = response.await;
        cancel.disarm();
        let response = response.unwrap_or_else(|_| Err(self.broken().into()))?;
        let outcome = response.outcome_of(&Id::from(request.id)).map_err(CallError::from);
        let result = outcome.and_then(|outcome| result(&outcome))?;
        Ok(Answer { result, headers: http::HeaderMap::new() })
    }

    /// Cancels a request whose response has not arrived. The first ones cannot be cancelled.
    fn cancel(&self, id: i64, is_first: bool) {
        let mut replies = self.0.replies.lock();
        let was_waiting = replies.waiting.remove(&id).is_some();
        replies.abandon(id);
        drop(replies);
        if !was_waiting || is_first || Handle::try_current().is_err() {
            return;
        }
        let channel = self.clone();
        self.0.inbox.tasks.spawn(async move {
            let cancelled = notification(method::CANCELLED, Some(&json!({ "requestId": id })));
            match timeout(CANCEL_TIMEOUT, channel.0.sender.send(cancelled.into())).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "cannot cancel a request"),
                Err(_) => tracing::debug!("cannot cancel a request in time"),
            }
        });
    }

    pub(super) async fn notify(&self, message: Bytes) -> Result<(), Error> {
        self.0.sender.send(message).await
    }

    /// Handles a message of the server, or a batch. A message that belongs to no request fails all that wait, since it may
    /// be the response to any of them.
    pub(super) fn receive(&self, body: &Bytes) {
        let done = split(body).and_then(|messages| {
            messages.iter().try_for_each(|message| self.receive_one(Incoming::parse(message)?))
        });
        if let Err(error) = done {
            self.fail(error);
        }
    }

    /// Fails all waiting requests for an invalid message.
    pub(super) fn fail(&self, error: ProtocolError) {
        tracing::debug!(target = %self.0.target, %error, "invalid message; failing all waiting requests");
        self.0.replies.lock().fail(&error.into());
    }

    fn receive_one(&self, message: Incoming) -> Result<(), ProtocolError> {
        match message {
            Incoming::Response(response) => return self.deliver(response),
            Incoming::Notification(notification) => {
                self.end_subscription(&notification);
                self.0.inbox.notify(&notification, None);
            }
            Incoming::Request(request) => {
                let channel = self.clone();
                self.0.inbox.answer(request, None, |response| async move {
                    if let Err(error) = channel.0.sender.send(response).await {
                        tracing::debug!(%error, "cannot send a response");
                    }
                });
            }
        }
        Ok(())
    }

    fn deliver(&self, response: Response) -> Result<(), ProtocolError> {
        let mut replies = self.0.replies.lock();
        let Some(id) = &response.id else {
            // It concerns a message that the server could not read.
            let ids: Vec<i64> = replies.waiting.keys().copied().collect();
            if let [only] = *ids
                && let Some(waiting) = replies.waiting.remove(&only)
            {
                replies.abandon(only);
                drop(waiting.send(Ok(response)));
            }
            return Ok(());
        };
        let key = Key::from(id);
        let number =
            [Some(&key), key.in_other_type().as_ref()].into_iter().flatten().find_map(|key| {
                match key {
                    Key::Number(number) => Some(*number),
                    Key::Other(_) => None,
                }
            });
        if let Some(id) = number {
            self.0.inbox.pending.answered(id);
        }
        if let Some(waiting) = number.and_then(|id| replies.waiting.remove(&id)) {
            // The caller may have been cancelled.
            drop(waiting.send(Ok(response)));
            return Ok(());
        }
        let abandoned = replies.abandoned.iter().position(|known| Some(*known) == number);
        if let Some(index) = abandoned {
            replies.abandoned.remove(index);
            return Ok(());
        }
        let ids = replies.waiting.keys().take(20).map(i64::to_string).collect::<Vec<_>>();
        let found = id.to_string().chars().take(100).collect();
        Err(ProtocolError::WrongId { expected: ids.join(", "), found })
    }

    /// In the stateless era, the server cancels a subscription that it ends.
    fn end_subscription(&self, notification: &Notification) {
        if notification.method != method::CANCELLED || !self.0.inbox.is_modern() {
            return;
        }
        let params = notification.params.as_deref().unwrap_or(RawValue::NULL);
        let Ok(CancelledParams { request_id: id }) = serde_json::from_str(params.get()) else {
            return;
        };
        let mut replies = self.0.replies.lock();
        if let Some(waiting) = replies.waiting.remove(&id) {
            replies.abandon(id);
            drop(waiting.send(Err(ProtocolError::Missing { id: id.to_string() }.into())));
        }
    }

    /// Ends the channel, and fails all waiting requests.
    pub(super) fn end(&self, failure: Option<Failure>) {
        let failure = failure.unwrap_or_else(|| self.broken());
        let mut replies = self.0.replies.lock();
        replies.fail(&failure);
        replies.failure.get_or_insert(failure);
        drop(replies);
        self.0.ended.cancel();
    }

    fn broken(&self) -> Failure {
        TransportError::Broken { target: self.0.target.clone(), source: None }.into()
    }
}

impl Replies {
    fn fail(&mut self, failure: &Failure) {
        let waiting: Vec<_> = self.waiting.drain().collect();
        for (id, waiting) in waiting {
            self.abandon(id);
            drop(waiting.send(Err(failure.clone().into())));
        }
    }

    fn abandon(&mut self, id: i64) {
        if self.abandoned.len() == MAX_ABANDONED {
            self.abandoned.pop_front();
        }
        self.abandoned.push_back(id);
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("target", &self.0.target).finish_non_exhaustive()
    }
}
