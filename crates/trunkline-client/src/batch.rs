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
use tower::Service;
use trunkline_core::call::Call;
use trunkline_core::error::{BoxError, ErrorObject, RpcError};
use trunkline_core::outcome::Outcome;

use super::client::{Client, Prepared, deadline};
use super::error::{Error, Failure};
use super::gathering::{Gathering, Member};
use super::pending::{Notification, Pending, read};
use super::retry::Attempts;
use super::wire::Wire;

impl Client {
    /// An empty batch.
    pub fn batch(&self) -> Batch {
        Batch::new(self)
    }
}

/// Calls that leave in one message. Their replies may come in any order.
#[must_use = "a batch is sent with `send`"]
#[derive(Debug)]
pub struct Batch {
    identity: Identity,
    client: Client,
    calls: Vec<Added>,
    timeout: Duration,
}

/// Where a call's result will be among the [`Replies`].
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
    ended: Vec<Option<Ended>>,
}

/// Identifies a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity(u64);

/// A call, and the client that has made it, whose layers it passes.
#[derive(Debug)]
struct Added {
    client: Client,
    prepared: Prepared,
    has_slot: bool,
}

type Ended = Result<Outcome, Unsent>;

#[derive(Debug)]
enum Unsent {
    OtherClient,
    Params(ErrorObject),
    Below(BoxError),
}

impl Batch {
    pub(super) fn new(client: &Client) -> Self {
        let timeout = client.settings().timeout;
        let identity = Identity::next();
        Self { identity, client: client.clone(), calls: Vec::new(), timeout }
    }

    /// Adds a call, of this client's, of a clone's, or of a typed client's that was made from one. It
    /// passes the layers of the one that has made it.
    ///
    /// A call of another client is not sent: its slot holds [`Error::OtherClient`].
    pub fn add<R, E>(&mut self, call: Pending<R, E>) -> Slot<R, E> {
        let (client, prepared) = call.into_parts();
        self.calls.push(Added { client, prepared, has_slot: true });
        Slot { batch: self.identity, index: self.calls.len() - 1, marker: PhantomData }
    }

    /// Adds a notification, of the same clients.
    pub fn notify(&mut self, notification: Notification) {
        let (client, prepared) = notification.into_parts();
        self.calls.push(Added { client, prepared, has_slot: false });
    }

    /// How long all of it may take, in place of the client's setting.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The number of calls and notifications.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Sends all calls in one message. An empty batch sends nothing.
    ///
    /// The message leaves as soon as no [layer](Client::layer) can let another call pass. Calls that a
    /// layer holds back leave in further messages, so a limit of concurrent calls splits a batch: limit
    /// the members of batches on the server instead.
    ///
    /// # Errors
    /// When a message has failed, and no call has an outcome. The error of a single call is returned when
    /// its slot is taken. If a notification cannot be sent, nothing is: it has no slot.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls.
    pub async fn send(self) -> Result<Replies, Error> {
        let Self { identity, client, calls, timeout } = self;
        let until = deadline(timeout);
        match timeout_at(until, send(&client, calls, until)).await {
            Ok(ended) => Ok(Replies { batch: identity, ended: ended? }),
            Err(_) => Err(client.shared.timed_out(timeout)),
        }
    }
}

async fn send(
    client: &Client,
    calls: Vec<Added>,
    until: Instant,
) -> Result<Vec<Option<Ended>>, Error> {
    let gathering = Arc::new(Gathering::default());
    let attempts = Attempts::until(until);
    let mut replies: Vec<Option<Ended>> = Vec::with_capacity(calls.len());
    let mut members = FuturesUnordered::new();
    for (index, added) in calls.into_iter().enumerate() {
        let Added { client: maker, prepared, has_slot } = added;
        let call = match maker.is_clone_of(client) {
            true => prepared.into_call(attempts).map_err(Unsent::Params),
            false => Err(Unsent::OtherClient),
        };
        match call {
            Ok(mut call) => {
                call.extensions_mut().insert(gathering.seat());
                let mut remote = maker.remote;
                members.push(async move { (index, remote.call(call).await) });
                replies.push(None);
            }
            Err(unsent) if has_slot => replies.push(Some(Err(unsent))),
            Err(unsent) => return Err(unsent.into()),
        }
    }
    let failed = OnceLock::new();
    let mut messages = FuturesUnordered::new();
    let (mut in_messages, mut waiting) = (0, 0);
    poll_fn(|cx| {
        loop {
            match members.poll_next_unpin(cx) {
                Poll::Ready(Some((index, ended))) => {
                    replies[index] = Some(ended.map_err(Unsent::Below));
                    continue;
                }
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => {}
            }
            gathering.batch.register(cx.waker());
            let in_layers = members.len().saturating_sub(in_messages);
            match gathering.len() {
                0 => {}
                // The others may not have had their turn yet.
                count if count < in_layers && count > waiting => {
                    waiting = count;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                _ => {
                    let calls = gathering.take();
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
    let has_outcome = replies.iter().any(|ended| matches!(ended, Some(Ok(_))));
    match failed.get() {
        Some(failure) if !has_outcome => Err(Failure::clone(failure).into()),
        _ => Ok(replies),
    }
}

/// Sends calls in one message, passes on their outcomes, and returns their number. `failed` is set to the
/// failure of the first message that fails as a whole.
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
        member.end(outcome);
    }
    count
}

impl Replies {
    /// Returns the result of a call.
    ///
    /// # Errors
    /// As for the call alone. A slot of another batch has nothing here: [`Error::OtherBatch`].
    pub fn take<R, E>(&mut self, slot: Slot<R, E>) -> Result<R, Error<E>>
    where
        R: DeserializeOwned,
        E: RpcError,
    {
        let own = self.ended.get_mut(slot.index).filter(|_| slot.batch == self.batch);
        match own.and_then(Option::take) {
            Some(Ok(outcome)) => read(&outcome),
            Some(Err(unsent)) => Err(unsent.into()),
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

impl<E> From<Unsent> for Error<E> {
    fn from(unsent: Unsent) -> Self {
        match unsent {
            Unsent::OtherClient => Self::OtherClient,
            Unsent::Params(error) => Self::Params(error),
            Unsent::Below(error) => Self::below(error),
        }
    }
}
