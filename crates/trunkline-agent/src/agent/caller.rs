use trunkline::access::Principal;
use trunkline::http::Peer;
use trunkline::protocol::TraceContext;
use trunkline::protocol::spans::are_enabled;
use trunkline::tool::Confirmed;
#[cfg(unix)]
use trunkline::unix;
use trunkline::{Call, ErrorObject, Extensions, FromCall};

use super::event::EventSender;
use crate::spans;

/// The caller on whose behalf an agent makes its calls.
///
/// The agent's calls carry the caller's [`Principal`], the address of its [`Peer`], its process on a unix socket,
/// the trace, and the extensions set by [transport middleware](Extensions::for_nested_call), so that permissions,
/// rate limits and tenants apply. They do not carry what belongs to the caller's own call: its headers with the
/// credentials, its id, the extensions added by its layers, and its deadline. Each call has the deadline of its
/// operation, and is cancelled when the turn ends or the caller disconnects.
#[derive(Debug, Clone)]
pub struct Caller {
    principal: Option<Principal>,
    /// The extensions of the agent's calls.
    extensions: Extensions,
    events: EventSender,
}

/// The transport name of an agent's calls.
const TRANSPORT: &str = "agent";

impl Caller {
    /// The caller of the call with these extensions. Events go to the [`EventSender`] in them, if there is one.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        let trace = TraceContext::of(extensions).or_else(TraceContext::current);
        let trace = trace.unwrap_or_else(TraceContext::root);
        let principal = Principal::of(extensions).cloned();
        let events = extensions.get::<EventSender>().cloned().unwrap_or_default();
        let mut nested = extensions.for_nested_call(TRANSPORT);
        if let Some(principal) = &principal {
            nested.insert(principal.clone());
        }
        nested.insert(Peer::of(extensions));
        #[cfg(unix)]
        if let Some(peer) = extensions.get::<unix::Peer>() {
            nested.insert(*peer);
        }
        nested.insert(trace);
        if are_enabled() {
            nested.insert(spans::CALL);
        }
        Self { principal, extensions: nested, events }
    }

    /// The owner key of the caller's conversations. Callers without credentials share one.
    pub(crate) fn key(&self) -> String {
        self.principal.as_ref().and_then(Principal::owner_key).unwrap_or_default()
    }

    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    pub(crate) fn events(&self) -> &EventSender {
        &self.events
    }

    /// This caller, for calls that it has confirmed, or that need no confirmation.
    pub(crate) fn confirmed(mut self) -> Self {
        self.extensions.insert(Confirmed);
        self
    }

    /// The extensions of a call on the caller's behalf.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }
}

impl<S> FromCall<S> for Caller {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self::of(call.extensions()))
    }
}
