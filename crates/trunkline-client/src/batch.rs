//! Batches (JSON-RPC 2.0, section 6) with typed results.

use std::future::poll_fn;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};
use trunkline_core::call::Call;
use trunkline_core::error::{BoxError, ErrorObject, RpcError};
use trunkline_core::outcome::Outcome;

use super::batch_queue::{BatchQueue, Member};
use super::client::{Client, Prepared, deadline};
use super::error::{Error, Failure};
use super::pending::{Notification, Pending, read};
use super::retry::Attempts;
use super::wire::Wire;

impl Client {
    /// An empty batch.
    pub fn batch(&self) -> Batch {
        Batch::new(self)
    }
}

/// Calls sent in one message. Their replies may arrive in any order.
#[must_use = "a batch is sent with `send`"]
#[derive(Debug)]
pub struct Batch {
    identity: Identity,
    client: Client,
    calls: Vec<BatchCall>,
    timeout: Duration,
}

/// The position of a call's result in the [`Replies`].
#[must_use = "the result is taken from the replies"]
#[derive(Debug)]
pub struct Slot<R, E = ErrorObject> {
    batch: Identity,
    index: usize,
    marker: PhantomData<fn() -> (R, E)>,
}

/// The results of the calls of a batch.
#[derive(Debug)]
pub struct Replies {
    batch: Identity,
    results: Vec<Option<CallResult>>,
}

/// The identity of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity(u64);

/// A call and the client that created it, whose layers it passes.
#[derive(Debug)]
struct BatchCall {
    client: Client,
    prepared: Prepared,
    has_slot: bool,
}

type CallResult = Result<Outcome, CallError>;

#[derive(Debug)]
enum CallError {
    OtherClient,
    Params(ErrorObject),
    Service(BoxError),
}

impl Batch {
    pub(super) fn new(client: &Client) -> Self {
        let timeout = client.settings().timeout;
        let identity = Identity::next();
        Self { identity, client: client.clone(), calls: Vec::new(), timeout }
    }

    /// Adds a call of this client, of a clone, or of a typed client based on one of them. The call passes
    /// the layers of the client that created it.
    ///
    /// A call of another client is not sent: its slot holds [`Error::OtherClient`].
    pub fn add<R, E>(&mut self, call: Pending<R, E>) -> Slot<R, E> {
        let (client, prepared) = call.into_parts();
        self.calls.push(BatchCall { client, prepared, has_slot: true });
        Slot { batch: self.identity, index: self.calls.len() - 1, marker: PhantomData }
    }

    /// Adds a notification of one of these clients.
    pub fn notify(&mut self, notification: Notification) {
        let (client, prepared) = notification.into_parts();
        self.calls.push(BatchCall { client, prepared, has_slot: false });
    }

    /// Sets the timeout of the whole batch, overriding the client's setting.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The number of calls and notifications.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether the batch has no calls and notifications.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Sends all calls in one message. An empty batch sends nothing.
    ///
    /// The message is sent once every call has passed its [layers](Client::layer) or is held back by one.
    /// Calls that are held back are sent in further messages, so a concurrency limit splits a batch. Limit
    /// the size of batches on the server instead.
    ///
    /// # Errors
    /// When a message fails and no call has an outcome. The error of a single call is returned when its slot
    /// is taken. If a notification cannot be sent, nothing is sent, because a notification has no slot.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls.
    pub async fn send(self) -> Result<Replies, Error> {
        let Self { identity, client, calls, timeout } = self;
        let until = deadline(timeout);
        match timeout_at(until, send(&client, calls, until)).await {
            Ok(results) => Ok(Replies { batch: identity, results: results? }),
            Err(_) => Err(client.shared.timed_out(timeout)),
        }
    }
}

async fn send(
    client: &Client,
    calls: Vec<BatchCall>,
    until: Instant,
) -> Result<Vec<Option<CallResult>>, Error> {
    let queue = Arc::new(BatchQueue::default());
    let attempts = Attempts::until(until);
    let mut results: Vec<Option<CallResult>> = Vec::with_capacity(calls.len());
    let mut members = FuturesUnordered::new();
    for (index, call) in calls.into_iter().enumerate() {
        let BatchCall { client: creator, prepared, has_slot } = call;
        let call = match creator.is_clone_of(client) {
            true => prepared.into_call(attempts).map_err(CallError::Params),
            false => Err(CallError::OtherClient),
        };
        match call {
            Ok(mut call) => {
                call.extensions_mut().insert(queue.handle());
                let remote = creator.remote;
                members.push(async move { (index, remote.run(call).await) });
                results.push(None);
            }
            Err(error) if has_slot => results.push(Some(Err(error))),
            Err(error) => return Err(error.into()),
        }
    }
    let failed = OnceLock::new();
    let mut messages = FuturesUnordered::new();
    let (mut in_messages, mut waiting) = (0, 0);
    poll_fn(|cx| {
        loop {
            match members.poll_next_unpin(cx) {
                Poll::Ready(Some((index, result))) => {
                    results[index] = Some(result.map_err(CallError::Service));
                    continue;
                }
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => {}
            }
            queue.batch.register(cx.waker());
            let in_layers = members.len().saturating_sub(in_messages);
            match queue.len() {
                0 => {}
                // The other calls may not have been polled yet.
                count if count < in_layers && count > waiting => {
                    waiting = count;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                _ => {
                    let calls = queue.take();
                    in_messages += calls.len();
                    waiting = 0;
                    messages.push(send_message(&client.shared.wire, calls, &failed));
                }
            }
            match messages.poll_next_unpin(cx) {
                Poll::Ready(Some(count)) => in_messages -= count,
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await;
    let has_outcome = results.iter().any(|result| matches!(result, Some(Ok(_))));
    match failed.get() {
        Some(failure) if !has_outcome => Err(Failure::clone(failure).into()),
        _ => Ok(results),
    }
}

/// Sends calls in one message, completes them with their outcomes, and returns their number. `failed` is set
/// to the failure of the first message that fails as a whole.
async fn send_message(wire: &Wire, members: Vec<Member>, failed: &OnceLock<Failure>) -> usize {
    let calls: Vec<&Call> = members.iter().map(|member| &member.call).collect();
    let outcomes = match wire.send_batch(&calls).await {
        Ok(outcomes) => outcomes,
        Err(failure) => {
            failed.get_or_init(|| failure.clone());
            calls.iter().map(|_| Err(failure.clone())).collect()
        }
    };
    let count = members.len();
    for (member, outcome) in members.into_iter().zip(outcomes) {
        member.complete(outcome);
    }
    count
}

impl Replies {
    /// Returns the result of a call.
    ///
    /// # Errors
    /// The error of the call. [`Error::OtherBatch`] for a slot of another batch.
    pub fn take<R, E>(&mut self, slot: Slot<R, E>) -> Result<R, Error<E>>
    where
        R: DeserializeOwned,
        E: RpcError,
    {
        let own = self.results.get_mut(slot.index).filter(|_| slot.batch == self.batch);
        match own.and_then(Option::take) {
            Some(Ok(outcome)) => read(&outcome),
            Some(Err(error)) => Err(error.into()),
            None => Err(Error::OtherBatch),
        }
    }
}

impl Identity {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl<E> From<CallError> for Error<E> {
    fn from(error: CallError) -> Self {
        match error {
            CallError::OtherClient => Self::OtherClient,
            CallError::Params(error) => Self::Params(error),
            CallError::Service(error) => Self::from_service(error),
        }
    }
}
