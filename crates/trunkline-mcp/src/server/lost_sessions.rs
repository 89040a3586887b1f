//! Sessions that this server has lost: those of before its restart, and those that have expired or were replaced. The next
//! message of their client opens them again, so that the client need not initialize.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use trunkline::Extensions;

use super::Server;
use crate::changes::ChangeSet;
use crate::session::{
    CarriedState, HttpSession, SessionError, owner_key, random_start, session_id,
};

/// The maximum time to read the state of a session from the store.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

impl Server {
    /// Opens the session with this id again, with the state that the id carries. `None` if the id is not one that this sender
    /// could have, or the client has ended the session.
    ///
    /// A caller that makes up an id gets a new session with it, as with `initialize`: it counts among the
    /// sessions of the sender, and is replaced by the same rules.
    pub(crate) fn reopen_session(
        self: &Arc<Self>,
        id: &str,
        sender: &Extensions,
    ) -> Result<Option<Arc<HttpSession>>, SessionError> {
        // The sessions of several nodes are those of their store.
        if self.membership.is_some() || self.sessions.has_ended(id) {
            return Ok(None);
        }
        let owner = owner_key(sender);
        let Some(carried) = session_id::read(id, owner.as_deref()) else { return Ok(None) };
        let session = self.reopened(id, sender, carried)?;
        let session = self.insert_session(id, session)?;
        Ok(session.is_of(sender).then_some(session))
    }

    /// Opens the session with this id again, if this server has lost it, with the state that the store has. Without effect
    /// if the store has none, or cannot be read: the id carries the most important state.
    pub(super) async fn load_saved_session(self: &Arc<Self>, id: &str, sender: &Extensions) {
        let Some(saved) = &self.saved else { return };
        let owner = owner_key(sender);
        let carried = session_id::read(id, owner.as_deref());
        let Some(carried) = carried.filter(|_| !self.sessions.has_ended(id)) else { return };
        let record = match timeout(READ_TIMEOUT, saved.store.find_session(id.to_owned())).await {
            Ok(Ok(Some(record))) => record,
            Ok(Ok(None)) => return,
            Ok(Err(error)) => return error.log("the state of a session cannot be read"),
            Err(_) => return tracing::debug!("the state of a session was not read in time"),
        };
        if record.is_ended {
            return self.sessions.remember_end(id);
        }
        let Ok(session) = self.reopened(id, sender, carried) else { return };
        session.session.restore(&record);
        let uris = session.session.subscription.set_resources(&record.resources);
        session.session.subscription.add_changes(&self.possible_changes());
        // If it cannot be added, the request is refused for the same reason. Another request may have added it.
        if let Ok(found) = self.insert_session(id, Arc::clone(&session))
            && Arc::ptr_eq(&found, &session)
        {
            self.begin_subscriptions(&session, uris);
        }
    }

    /// A session with the state that its id carries.
    fn reopened(
        &self,
        id: &str,
        sender: &Extensions,
        carried: CarriedState,
    ) -> Result<Arc<HttpSession>, SessionError> {
        // Streams and requests of the lost session had other numbers.
        let start = random_start().ok_or(SessionError::Random)?;
        let session = self.new_session(sender, start);
        session.session.initialize(carried);
        if let Some(saved) = &self.saved {
            session.session.save_to(id, saved);
        }
        // What has changed since the client has read the lists is not known.
        session.session.subscription.add_changes(&self.possible_changes());
        Ok(session)
    }

    /// Adds a session with an id, or returns the one that has the id.
    fn insert_session(
        &self,
        id: &str,
        session: Arc<HttpSession>,
    ) -> Result<Arc<HttpSession>, SessionError> {
        let session = self.sessions.insert(id, session)?;
        self.subscribers.add(&session.session.subscription);
        Ok(session)
    }

    /// All changes of which clients can be notified.
    fn possible_changes(&self) -> ChangeSet {
        let lists = self.lists_change();
        let resource_list = lists || self.settings.resource_list_changes;
        ChangeSet { tools: lists, prompts: lists, resource_list, ..ChangeSet::all() }
    }
}
