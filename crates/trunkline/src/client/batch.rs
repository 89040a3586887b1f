//! Batches (JSON-RPC 2.0, section 6) with typed results.

use std::marker::PhantomData;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::FusedFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};
use tower::Service;

use super::error::{Error, Failure};
use super::gathering::Gathering;
use super::made::Made;
use super::notification::Notification;
use super::pending::{Pending, read};
use super::wire::Wire;
use super::{Client, deadline};
use crate::call::Call;
use crate::error::{BoxError, ErrorObject, RpcError};
use crate::outcome::Outcome;

/// Calls that leave in one message. Their replies may come in any order.
#[must_use = "a batch is sent with `send`"]
#[derive(Debug)]
pub struct Batch {
    client: Client,
    calls: Vec<Made>,
    timeout: Duration,
}

/// Where a call's result will be among the [`Replies`].
#[must_use = "the result is taken from the replies"]
#[derive(Debug)]
pub struct Slot<R, E = ErrorObject> {
    index: usize,
    marker: PhantomData<fn() -> (R, E)>,
}

/// What the calls of a batch have ended in.
#[derive(Debug)]
pub struct Replies(Vec<Option<Ended>>);

type Ended = Result<Outcome, Unsent>;

#[derive(Debug)]
enum Unsent {
    Params(ErrorObject),
    Below(BoxError),
}

impl Batch {
    pub(super) fn new(client: &Client) -> Self {
        let timeout = client.settings().timeout;
        Self { client: client.clone(), calls: Vec::new(), timeout }
    }

    /// Adds a call, of this client's or of a typed client's.
    pub fn add<R, E>(&mut self, call: Pending<R, E>) -> Slot<R, E> {
        self.calls.push(call.into_made());
        Slot { index: self.calls.len() - 1, marker: PhantomData }
    }

    /// Adds a notification.
    pub fn notify(&mut self, notification: Notification) {
        self.calls.push(notification.into_made());
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
    /// # Errors
    /// When the message has failed, and no call has an outcome; what failed for one call is told
    /// when its slot is taken.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls.
    pub async fn send(self) -> Result<Replies, Error> {
        let Self { client, calls, timeout } = self;
        let until = deadline(timeout);
        match timeout_at(until, send(&client, calls, until)).await {
            Ok(replies) => replies,
            Err(_) => Err(client.shared.timed_out(timeout)),
        }
    }
}

async fn send(client: &Client, calls: Vec<Made>, until: Instant) -> Result<Replies, Error> {
    let gathering = Arc::new(Gathering::default());
    let mut replies: Vec<Option<Ended>> = Vec::with_capacity(calls.len());
    let mut ready = Vec::with_capacity(calls.len());
    // All seats are there before the first call sets out: none takes the others for late.
    for (index, call) in calls.into_iter().enumerate() {
        match call.prepared(until) {
            Ok(mut call) => {
                call.extensions_mut().insert(gathering.seat());
                ready.push((index, call));
                replies.push(None);
            }
            Err(error) => replies.push(Some(Err(Unsent::Params(error)))),
        }
    }
    let mut members = FuturesUnordered::new();
    for (index, call) in ready {
        let mut remote = client.remote.clone();
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
        _ => Ok(Replies(replies)),
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
    /// As for the call alone. A slot of another batch has nothing here: -32603.
    pub fn take<R, E>(&mut self, slot: Slot<R, E>) -> Result<R, Error<E>>
    where
        R: DeserializeOwned,
        E: RpcError,
    {
        match self.0.get_mut(slot.index).and_then(Option::take) {
            Some(Ok(outcome)) => read(&outcome),
            Some(Err(Unsent::Params(error))) => Err(Error::Params(error)),
            Some(Err(Unsent::Below(error))) => Err(Error::below(error)),
            None => Err(Error::Rpc(ErrorObject::internal(&"the slot is of another batch"))),
        }
    }
}
