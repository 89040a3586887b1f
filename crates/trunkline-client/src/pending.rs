//! Calls and notifications that have not been sent.

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, RpcError};
use trunkline_core::outcome::Outcome;

use super::client::{Client, Prepared};
use super::error::{Error, ProtocolError};

impl Client {
    /// Calls a method. The call is sent when the returned value is awaited or added to a batch.
    ///
    /// `params` must serialise to an object (by name) or an array (by position); `()` sends no params.
    pub fn call<R>(&self, method: &str, params: impl Serialize) -> Pending<R> {
        Pending::new(self, Call::request(&self.next_id(), method, &params))
    }

    /// Sends a notification: the server runs the method and sends no reply.
    pub fn notify(&self, method: &str, params: impl Serialize) -> Notification {
        Notification::new(self, Call::notification(method, &params))
    }
}

/// A call that is sent when it is awaited or added to a [`Batch`](super::Batch). `R` is the result type of
/// the method, `E` its error type.
///
/// # Cancel safety
/// Dropping the future cancels the call: over HTTP, the connection or stream is closed; over other
/// transports, the server is notified. The call may have run.
#[must_use = "a call is sent when it is awaited or added to a batch"]
pub struct Pending<R, E = ErrorObject> {
    client: Client,
    prepared: Prepared,
    timeout: Duration,
    marker: PhantomData<fn() -> (R, E)>,
}

impl<R, E> Pending<R, E> {
    pub(super) fn new(client: &Client, call: Result<Call, ErrorObject>) -> Self {
        let timeout = client.settings().timeout;
        Self {
            client: client.clone(),
            prepared: Prepared { call, is_idempotent: false },
            timeout,
            marker: PhantomData,
        }
    }

    /// Sets the timeout of the call, overriding the client's setting. In a batch, the batch's timeout applies.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Declares the call idempotent: repeating it has no further effect, so that it may be retried.
    pub fn idempotent(mut self) -> Self {
        self.prepared.is_idempotent = true;
        self
    }

    /// Sets the error type of the method.
    pub fn errors<E2>(self) -> Pending<R, E2> {
        let Self { client, prepared, timeout, .. } = self;
        Pending { client, prepared, timeout, marker: PhantomData }
    }

    /// The call and the client that sends it.
    pub(super) fn into_parts(self) -> (Client, Prepared) {
        (self.client, self.prepared)
    }

    async fn run(self) -> Result<R, Error<E>>
    where
        R: DeserializeOwned,
        E: RpcError,
    {
        let Self { client, prepared, timeout, .. } = self;
        read(&client.run(prepared, timeout).await?)
    }
}

impl<R, E> IntoFuture for Pending<R, E>
where
    R: DeserializeOwned + 'static,
    E: RpcError + 'static,
{
    type Output = Result<R, Error<E>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Deserialises the result of an outcome.
pub(super) fn read<R: DeserializeOwned, E: RpcError>(outcome: &Outcome) -> Result<R, Error<E>> {
    match outcome.as_result() {
        Ok(json) => serde_json::from_slice(json)
            .map_err(|error| Error::Protocol(ProtocolError::Result { reason: error.to_string() })),
        Err(error) => Err(Error::of(error.clone())),
    }
}

impl<R, E> std::fmt::Debug for Pending<R, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("call", &self.prepared).finish_non_exhaustive()
    }
}

/// A notification that is sent when it is awaited or added to a [`Batch`](super::Batch).
///
/// Over HTTP, its future completes when the server has run it; over other transports, when it is sent.
#[must_use = "a notification is sent when it is awaited or added to a batch"]
#[derive(Debug)]
pub struct Notification {
    client: Client,
    prepared: Prepared,
    timeout: Duration,
}

impl Notification {
    pub(super) fn new(client: &Client, call: Result<Call, ErrorObject>) -> Self {
        let timeout = client.settings().timeout;
        Self { client: client.clone(), prepared: Prepared { call, is_idempotent: false }, timeout }
    }

    /// Sets the timeout for sending, overriding the client's setting.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The notification and the client that sends it.
    pub(super) fn into_parts(self) -> (Client, Prepared) {
        (self.client, self.prepared)
    }

    async fn run(self) -> Result<(), Error> {
        let outcome = self.client.run(self.prepared, self.timeout).await?;
        // A notification has a reply only if it is refused.
        outcome.as_result().map(drop).map_err(|error| Error::of(error.clone()))
    }
}

impl IntoFuture for Notification {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
