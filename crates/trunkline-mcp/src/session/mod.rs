//! Clients of the first era, which have a state: those of channels and of HTTP sessions.

mod replay;
mod sessions;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use trunkline::protocol::CallFuture;
use trunkline::stream::Calls;
use trunkline::{Call, ErrorObject, Id, Outcome, code};

use crate::capabilities::ClientCapabilities;
use crate::log_level::LogLevel;
use crate::peer::ClientRequests;
use crate::protocol::Legacy;
use crate::request::Request;
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
    /// The running calls.
    pub(crate) calls: Calls,
    /// Cancelled when the client sends and receives no further messages: it has gone or has ended its session, or the
    /// server stops. Running calls end later.
    pub(crate) ended: CancellationToken,
    /// Cancelled when the client has ended its session, which cancels its calls.
    deleted: CancellationToken,
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
            calls: Calls::default(),
            ended: closing.child_token(),
            deleted: CancellationToken::new(),
        }
    }

    /// Runs a call until it ends, its client cancels it, or its client ends the session. `None` if a call with this id is
    /// running.
    pub(crate) fn run(&self, id: &Id, mut call: CallFuture) -> Option<CallFuture> {
        let registration = self.calls.begin_unique(id.into())?;
        let deleted = self.deleted.clone();
        Some(CallFuture::from_future(async move {
            tokio::select! {
                biased;
                Ok(outcome) = &mut call => return outcome,
                () = registration.cancelled() => {}
                () = deleted.cancelled() => {}
            }
            Outcome::error(ErrorObject::new(code::CANCELLED, "Cancelled by the client"))
        }))
    }

    /// Cancels the call that a notification names. Malformed notifications are ignored.
    pub(crate) fn cancel(&self, notification: &Call) {
        let request = Request::of(notification).unwrap_or_default();
        if let Some(key) = request.request_key(notification) {
            self.calls.cancel(&key);
        }
    }

    /// Ends the session and its calls.
    pub(crate) fn delete(&self) {
        self.ended.cancel();
        self.deleted.cancel();
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
