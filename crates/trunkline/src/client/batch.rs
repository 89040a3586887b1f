//! Batches (JSON-RPC 2.0, section 6) with typed results.

use std::marker::PhantomData;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::FusedFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};
use tower::Service;
use trunkline_core::call::Call;
use trunkline_core::error::{BoxError, ErrorObject, RpcError};
use trunkline_core::outcome::Outcome;

use super::error::{Error, Failure};
use super::gathering::Gathering;
use super::made::Made;
use super::pending::{Notification, Pending, read};
use super::wire::Wire;
use super::{Client, deadline};

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

/// What the calls of a batch have ended in.
#[derive(Debug)]
pub struct Replies {
    batch: Identity,
    ended: Vec<Option<Ended>>,
}

/// Tells batches apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity(u64);

/// A call, and the client that has made it, whose layers it passes.
#[derive(Debug)]
struct Added {
    client: Client,
    made: Made,
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
        let (client, made) = call.into_parts();
        self.calls.push(Added { client, made, has_slot: true });
        Slot { batch: self.identity, index: self.calls.len() - 1, marker: PhantomData }
    }

    /// Adds a notification, of the same clients.
    pub fn notify(&mut self, notification: Notification) {
        let (client, made) = notification.into_parts();
        self.calls.push(Added { client, made, has_slot: false });
    }

    /// How long all of it may take, in place of the client's setting.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How many calls and notifications there are.
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
    /// It waits for calls that [layers](Client::layer) hold back, up to 20 ms after the one that came
    /// last; what comes later leaves in a further message. Behind a layer that lets few calls through
    /// at a time, a batch is many messages: bound the calls, not the members of batches, on the server.
    ///
    /// # Errors
    /// When the message has failed, and no call has an outcome; what failed for one call is told
    /// when its slot is taken. When there is a notification that cannot be sent, nothing is: it has no
    /// slot to tell.
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
    let mut replies: Vec<Option<Ended>> = Vec::with_capacity(calls.len());
    let mut ready = Vec::with_capacity(calls.len());
    // All seats are there before the first call sets out: none takes the others for late.
    for (index, added) in calls.into_iter().enumerate() {
        let Added { client: maker, made, has_slot } = added;
        let prepared = match maker.is_clone_of(client) {
            true => made.prepared(until).map_err(Unsent::Params),
            false => Err(Unsent::OtherClient),
        };
        match prepared {
            Ok(mut call) => {
                call.extensions_mut().insert(gathering.seat());
                ready.push((index, maker.remote, call));
                replies.push(None);
            }
            Err(unsent) if has_slot => replies.push(Some(Err(unsent))),
            Err(unsent) => return Err(unsent.into()),
        }
    }
    let mut members = FuturesUnordered::new();
    for (index, mut remote, call) in ready {
        members.push(async move { (index, remote.call(call).await) });
    }
    let failed = OnceLock::new();
    let mut sending = pin!(send_gathered(&client.shared.wire, &gathering, &failed).fuse());
    loop {
        tokio::select! {
            biased;
            ended = members.next() => match ended {
                Some((index, ended)) => replies[index] = Some(ended.map_err(Unsent::Below)),
                None => break,
            },
            () = sending.as_mut(), if !sending.is_terminated() => {}
        }
    }
    let has_outcome = replies.iter().any(|ended| matches!(ended, Some(Ok(_))));
    match failed.get() {
        Some(failure) if !has_outcome => Err(Failure::clone(failure).into()),
        _ => Ok(replies),
    }
}

/// Sends what has come through the layers, and hands out what comes of it. `failed` is told of the
/// first message that fails as a whole; its calls are told, too, and some may be made again.
async fn send_gathered(wire: &Wire, gathering: &Gathering, failed: &OnceLock<Failure>) {
    while let Some(members) = gathering.next().await {
        let calls: Vec<&Call> = members.iter().map(|member| &member.call).collect();
        let outcomes = match wire.send_batch(&calls).await {
            Ok(outcomes) => outcomes,
            Err(failure) => {
                failed.get_or_init(|| failure.clone());
                calls.iter().map(|_| Err(failure.clone())).collect()
            }
        };
        for (member, outcome) in members.into_iter().zip(outcomes) {
            member.end(outcome);
        }
    }
}

impl Replies {
    /// What a call has ended in.
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
