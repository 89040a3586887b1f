use trunkline::access::Principal;
use trunkline::http::Peer;
use trunkline::protocol::TraceContext;
#[cfg(unix)]
use trunkline::unix;
use trunkline::{Call, ErrorObject, Extensions, FromCall};

use super::event::Events;

/// On whose behalf an agent acts: what it calls, it calls as they would.
///
/// Its calls carry who they are (their [`Principal`], the address of their [`Peer`], on a unix socket their
/// process), the trace, and what [middleware of their door](Extensions::on_behalf) has set, so that rights,
/// rates and tenants are theirs. They do not carry what is of the caller's own call alone: its headers,
/// with their credentials, its id, what layers have added to it (those of the operations add theirs), and
/// its deadline: a call has that of its operation, and ends with the turn, or when the caller goes.
#[derive(Debug, Clone)]
pub struct Caller {
    principal: Option<Principal>,
    /// What its calls carry.
    extensions: Extensions,
    events: Events,
}

/// The name of the door that an agent's calls come through.
const DOOR: &str = "agent";

impl Caller {
    /// Who has made a call. If its door has put [`Events`] there, they tell what happens.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        let trace = TraceContext::of(extensions).or_else(TraceContext::current);
        let trace = trace.unwrap_or_else(TraceContext::root);
        let principal = Principal::of(extensions).cloned();
        let events = extensions.get::<Events>().cloned().unwrap_or_default();
        let mut carried = extensions.on_behalf(DOOR);
        if let Some(principal) = &principal {
            carried.insert(principal.clone());
        }
        carried.insert(Peer::of(extensions));
        #[cfg(unix)]
        if let Some(peer) = extensions.get::<unix::Peer>() {
            carried.insert(*peer);
        }
        carried.insert(trace);
        Self { principal, extensions: carried, events }
    }

    /// The owner of conversations. Callers without credentials share theirs.
    pub(crate) fn key(&self) -> String {
        self.principal.as_ref().and_then(Principal::owner_key).unwrap_or_default()
    }

    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    /// What the calls that are made on their behalf carry.
    pub(crate) fn extensions(&self) -> Extensions {
        self.extensions.clone()
    }
}

impl<S> FromCall<S> for Caller {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self::of(call.extensions()))
    }
}
