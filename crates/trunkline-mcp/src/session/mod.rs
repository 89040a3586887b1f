//! Clients of the first era, which have a state: those of channels and of HTTP sessions.

mod replay;
mod sessions;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::capabilities::ClientCapabilities;
use crate::log_level::LogLevel;
use crate::peer::ClientRequests;
use crate::protocol::Legacy;
use crate::subscription::Subscription;

pub(crate) use self::replay::{EventReader, Next, Position, RETRY, Replay, StreamId};
pub(crate) use self::sessions::{
    Activity, HttpSession, SessionError, Sessions, is_same, random_id,
};

/// The state of a client that has opened with `initialize`.
#[derive(Debug)]
pub(crate) struct Session {
    state: Mutex<State>,
    pub(crate) subscription: Arc<Subscription>,
    pub(crate) requests: Arc<ClientRequests>,
    /// Cancelled when the client has gone, or has ended its session.
    pub(crate) ended: CancellationToken,
}

#[derive(Debug, Clone)]
struct State {
    /// The revision in the answer to `initialize`.
    version: Option<Legacy>,
    /// The minimum level of log messages to the client.
    level: LogLevel,
    capabilities: ClientCapabilities,
}

impl Session {
    /// A session that ends at the latest when `closing` is cancelled.
    pub(crate) fn new(closing: &CancellationToken) -> Self {
        let capabilities = ClientCapabilities::default();
        Self {
            state: Mutex::new(State { version: None, level: LogLevel::Info, capabilities }),
            subscription: Arc::new(Subscription::to_lists()),
            requests: Arc::default(),
            ended: closing.child_token(),
        }
    }

    pub(crate) fn initialize(&self, version: Legacy, capabilities: ClientCapabilities) {
        let mut state = self.state();
        state.version = Some(version);
        state.capabilities = capabilities;
    }

    pub(crate) fn version(&self) -> Option<Legacy> {
        self.state().version
    }

    pub(crate) fn level(&self) -> LogLevel {
        self.state().level
    }

    pub(crate) fn set_level(&self, level: LogLevel) {
        self.state().level = level;
    }

    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        self.state().capabilities.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
