use trunkline::access::Principal;
use trunkline::{Call, ErrorObject, Extensions, FromCall, TraceContext};

use super::event::Events;

/// On whose behalf an agent acts: what it calls, it calls as they would.
#[derive(Debug, Clone)]
pub struct Caller {
    principal: Option<Principal>,
    trace: TraceContext,
    events: Events,
}

/// The name of the door that an agent's calls come through.
const DOOR: &str = "agent";

impl Caller {
    /// Who has made a call. If its door has put [`Events`] there, they tell what happens.
    #[must_use]
    pub fn of(extensions: &Extensions) -> Self {
        let trace = TraceContext::of(extensions).or_else(TraceContext::current);
        Self {
            principal: Principal::of(extensions).cloned(),
            trace: trace.unwrap_or_else(TraceContext::root),
            events: extensions.get::<Events>().cloned().unwrap_or_default(),
        }
    }

    /// Whom conversations belong to. Those without a name share theirs.
    pub(crate) fn key(&self) -> String {
        let of = |principal: &Principal| {
            serde_json::json!([principal.issuer(), principal.name()]).to_string()
        };
        self.principal.as_ref().map(of).unwrap_or_default()
    }

    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    /// What is told of the calls that are made on their behalf.
    pub(crate) fn extensions(&self) -> Extensions {
        let mut extensions = Extensions::through(DOOR);
        if let Some(principal) = &self.principal {
            extensions.insert(principal.clone());
        }
        extensions.insert(self.trace);
        extensions
    }
}

impl<S> FromCall<S> for Caller {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self::of(call.extensions()))
    }
}
