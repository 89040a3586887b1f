//! Clients of the first era, which have a state: those of channels and of HTTP sessions.

mod replay;
mod saved;
pub(crate) mod session_id;
mod sessions;
mod shared;

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;
use trunkline::protocol::CallFuture;
use trunkline::stream::Calls;
use trunkline::{Call, ErrorObject, Id, Outcome, code};

use crate::capabilities::ClientCapabilities;
use crate::client_info::ClientInfo;
use crate::lock::Lock;
use crate::log_level::LogLevel;
use crate::node_message::Membership;
use crate::nodes::{SessionChange, SessionRecord};
use crate::peer::ClientRequests;
use crate::protocol::Legacy;
use crate::request::Request;
use crate::subscription::Subscription;

pub(crate) use self::replay::{EventReader, Next, Position, RETRY, Replay, StreamId};
use self::saved::SavedSession;
pub(crate) use self::saved::{PendingWrite, SavedSessions};
pub(crate) use self::session_id::CarriedState;
pub(crate) use self::sessions::{
    Activity, HttpSession, SessionError, Sessions, caller_key, is_same, random_id, random_start,
};
pub(crate) use self::shared::{SharedSession, SseClients, owner_key, unavailable};

/// The state of a client that has opened with `initialize`.
#[derive(Debug)]
pub(crate) struct Session {
    state: Lock<State>,
    pub(crate) subscription: Arc<Subscription>,
    pub(crate) requests: Arc<ClientRequests>,
    /// The running calls.
    pub(crate) calls: Calls,
    /// Cancelled when the client sends and receives no further messages: it has gone or has ended its session, or the
    /// server stops. Running calls end later.
    pub(crate) ended: CancellationToken,
    /// Cancelled when the client has ended its session, which cancels its calls.
    deleted: CancellationToken,
    /// Set if other nodes have the session, too.
    shared: OnceLock<Arc<SharedSession>>,
    /// Set if a single server saves the session.
    saved: OnceLock<SavedSession>,
}

#[derive(Debug, Default)]
struct State {
    carried: CarriedState,
    /// The minimum level of log messages to the client.
    level: LogLevel,
}

impl Session {
    /// A session that ends at the latest when `closing` is cancelled. The ids of its requests are greater than
    /// `last_request`.
    pub(crate) fn new(closing: &CancellationToken, last_request: u64) -> Self {
        Self {
            state: Lock::default(),
            subscription: Arc::new(Subscription::to_lists()),
            requests: Arc::new(ClientRequests::after(last_request)),
            calls: Calls::default(),
            ended: closing.child_token(),
            deleted: CancellationToken::new(),
            shared: OnceLock::new(),
            saved: OnceLock::new(),
        }
    }

    /// Shares the session with other nodes.
    pub(crate) fn share(&self, id: String, membership: Arc<Membership>) {
        // The id of a session does not change.
        drop(self.shared.set(Arc::new(SharedSession::new(id, membership))));
    }

    /// The session as that of several nodes. `None` on a single server.
    pub(crate) fn shared(&self) -> Option<&Arc<SharedSession>> {
        self.shared.get()
    }

    /// Saves the later changes of the session with this id.
    pub(crate) fn save_to(&self, id: &str, sessions: &Arc<SavedSessions>) {
        // The id of a session does not change.
        drop(self.saved.set(SavedSession::new(id, sessions)));
    }

    /// Saves the current state later, if there is a store. The change is not durable when this returns: after a crash, the
    /// session has an earlier state.
    pub(crate) fn save(&self) {
        if let Some(saved) = self.saved.get() {
            saved.save();
        }
    }

    /// Saves that the client, in whose share of the sessions it is, has ended the session.
    pub(crate) fn save_end(&self, caller: &str) {
        if let Some(saved) = self.saved.get() {
            saved.end(caller);
        }
    }

    /// Saves a session that is used, if its id does not carry its state.
    pub(crate) fn confirm(&self) {
        if self.saved.get().is_some() && !session_id::carries_all(&self.capabilities()) {
            self.save();
        }
    }

    /// Whether the store has the session.
    pub(crate) fn is_stored(&self) -> bool {
        self.saved.get().is_some_and(SavedSession::is_stored)
    }

    /// Sets the state that another node, or this server before a restart, has stored.
    pub(crate) fn restore(&self, record: &SessionRecord) {
        if let Some(saved) = self.saved.get() {
            saved.set_stored();
        }
        let mut state = self.state.lock();
        state.carried = CarriedState {
            version: record.version.as_deref().and_then(Legacy::parse),
            capabilities: ClientCapabilities::parse(record.capabilities.as_bytes())
                .unwrap_or_default(),
            client: record.client.as_ref().map(|[name, version]| ClientInfo::new(name, version)),
        };
        state.level = record.level;
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

    /// Cancels the call that a notification names. Malformed notifications are ignored. Returns the id of the call as
    /// JSON if another node may run it.
    pub(crate) fn cancel(&self, notification: &Call) -> Option<String> {
        let request = Request::of(notification).unwrap_or_default();
        self.calls.cancel(&request.request_key(notification)?);
        self.shared()?;
        let id = notification.text(request.request_id?);
        std::str::from_utf8(id).ok().map(str::to_owned)
    }

    /// Ends the session and its calls.
    pub(crate) fn delete(&self) {
        self.ended.cancel();
        self.deleted.cancel();
    }

    /// Sets the state that the id of the session carries.
    pub(crate) fn initialize(&self, carried: CarriedState) {
        self.state.lock().carried = carried;
    }

    /// The state that the id of the session carries.
    pub(crate) fn carried(&self) -> CarriedState {
        self.state.lock().carried.clone()
    }

    /// Changes the session on all nodes that have it. It has at most `max` subscriptions.
    pub(crate) async fn change(
        &self,
        change: SessionChange,
        max: usize,
    ) -> Result<(), ErrorObject> {
        let apply = || match &change {
            SessionChange::Level(level) => self.set_level(*level),
            SessionChange::Subscribe(uri) => drop(self.subscription.add_resource(uri, max)),
            SessionChange::Unsubscribe(uri) => self.subscription.remove_resource(uri),
        };
        let Some(shared) = self.shared() else {
            apply();
            self.save();
            return Ok(());
        };
        shared.change(change.clone(), apply).await
    }

    pub(crate) fn version(&self) -> Option<Legacy> {
        self.state.lock().carried.version
    }

    pub(crate) fn level(&self) -> LogLevel {
        self.state.lock().level
    }

    pub(crate) fn set_level(&self, level: LogLevel) {
        self.state.lock().level = level;
    }

    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        self.state.lock().carried.capabilities.clone()
    }

    /// The name and version of the client. `None` before `initialize`, and if the client has none.
    pub(crate) fn client_info(&self) -> Option<ClientInfo> {
        self.state.lock().carried.client.clone()
    }
}
