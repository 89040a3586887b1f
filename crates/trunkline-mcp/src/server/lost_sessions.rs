//! Sessions that this server has lost: those of before its restart, and those that have expired or were replaced. The next
//! message of their client opens them again, so that the client need not initialize.

use std::sync::Arc;

use trunkline::Extensions;

use super::Server;
use crate::changes::ChangeSet;
use crate::session::{HttpSession, SessionError, owner_key, random_start, session_id};

impl Server {
    /// Opens the session with this id again, with the state that the id carries. `None` if the id is not one that this sender
    /// could have, or the client has ended the session.
    ///
    /// Anyone can make up an id, and gets a new session of their own with it, as with `initialize`: it counts among the
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
        // Streams and requests of the lost session had other numbers.
        let start = random_start().ok_or(SessionError::Random)?;
        let session = self.new_session(sender, start);
        session.session.reopen(carried);
        // What has changed since the client has read the lists is not known.
        session.session.subscription.add_changes(&self.possible_changes());
        let session = self.sessions.insert(id, session)?;
        self.subscribers.add(&session.session.subscription);
        Ok(session.is_of(sender).then_some(session))
    }

    /// All changes of which clients can be notified.
    fn possible_changes(&self) -> ChangeSet {
        let lists = self.lists_change();
        let resource_list = lists || self.settings.resource_list_changes;
        ChangeSet { tools: lists, prompts: lists, resource_list, ..ChangeSet::all() }
    }
}
