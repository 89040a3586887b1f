//! The client.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tower::{Layer, Service};
use trunkline_core::call::Call;
use trunkline_core::error::{BoxError, ErrorObject};
use trunkline_core::id::Id;
use trunkline_core::outcome::Outcome;

use crate::error::{Error, TransportError};
use crate::remote::{Remote, layered, remote};
use crate::retry::{Attempts, Retry};
use crate::transport::Transport;
use crate::wire::Wire;

/// A JSON-RPC 2.0 client. Cloning is cheap; clones share the transport and the ids.
#[derive(Clone)]
pub struct Client {
    pub(crate) remote: Remote,
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) wire: Arc<Wire>,
    settings: ClientConfig,
    last_id: AtomicI64,
}

/// Configuration of a [`Client`].
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The timeout of a call or a batch, from the first attempt to the last byte of the reply. Default
    /// 30 s. The error is [`Timeout`](TransportError::Timeout).
    pub timeout: Duration,
    /// The retries of calls to idempotent methods. Default: two.
    pub retry: Option<Retry>,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), retry: Some(Retry::default()) }
    }
}

/// A call that has not been sent, or the error of its params.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) call: Result<Call, ErrorObject>,
    pub(crate) is_idempotent: bool,
}

impl Prepared {
    pub(crate) fn into_call(self, attempts: Attempts) -> Result<Call, ErrorObject> {
        let mut call = self.call?;
        if self.is_idempotent {
            call.extensions_mut().insert(attempts);
        }
        Ok(call)
    }
}

impl Client {
    /// A client over `transport`, with default settings.
    #[must_use]
    pub fn new(transport: impl Transport) -> Self {
        Self::with_config(transport, ClientConfig::default())
    }

    /// A client over `transport`.
    #[must_use]
    pub fn with_config(transport: impl Transport, settings: ClientConfig) -> Self {
        let wire = Arc::new(Wire::new(transport));
        let remote = remote(Arc::clone(&wire), settings.retry);
        let shared = Arc::new(Shared { wire, settings, last_id: AtomicI64::new(0) });
        Self { remote, shared }
    }

    /// Adds a layer for all calls of this client and of its future clones. The members of a batch pass the
    /// layer one by one, as in a server. The last layer added is the outermost.
    ///
    /// Any tower layer over `Service<Call, Response = Outcome>` is accepted. A layer that delays calls, such
    /// as a concurrency limit, splits [batches](crate::Batch::send) into several messages.
    #[must_use]
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Remote>,
        L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
        <L::Service as Service<Call>>::Error: Into<BoxError> + Send,
        <L::Service as Service<Call>>::Future: Send,
    {
        self.remote = layered(self.remote, &layer);
        self
    }

    /// The settings of the client.
    #[must_use]
    pub fn settings(&self) -> &ClientConfig {
        &self.shared.settings
    }

    /// Sends a call through all layers.
    pub(crate) async fn run<E>(
        &self,
        prepared: Prepared,
        timeout: Duration,
    ) -> Result<Outcome, Error<E>> {
        let until = deadline(timeout);
        let call = prepared.into_call(Attempts::until(until)).map_err(Error::Params)?;
        match timeout_at(until, self.remote.run(call)).await {
            Ok(result) => result.map_err(Error::from_service),
            Err(_) => Err(self.shared.timed_out(timeout)),
        }
    }

    /// Whether both clients share the transport and the ids.
    pub(crate) fn is_clone_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    pub(crate) fn next_id(&self) -> Id {
        Id::from(self.shared.last_id.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl Shared {
    pub(crate) fn timed_out<E>(&self, after: Duration) -> Error<E> {
        let target = self.wire.target().into_owned();
        Error::Transport(TransportError::Timeout { target, after, source: None })
    }
}

/// The instant at which a timeout expires. A timeout beyond the range of the clock counts as a year.
pub(crate) fn deadline(timeout: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 86_400);
    let now = Instant::now();
    now.checked_add(timeout).unwrap_or(now + FAR)
}

/// Converts any transport. Typed clients accept `Into<Client>`.
impl<T: Transport> From<T> for Client {
    fn from(transport: T) -> Self {
        Self::new(transport)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}
