use trunkline::access::Principal;
use trunkline::{Call, ErrorObject, Extensions, FromCall};

use crate::resources::{Caller, Context, Mode};

/// Who calls, as far as a token tells, and in which [`Mode`], if the door has set one.
impl<S> FromCall<S> for Context {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self::of(call.extensions()))
    }
}

impl Context {
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let caller = extensions.get::<Principal>().map(caller).unwrap_or_default();
        let mode = extensions.get::<Mode>().copied().unwrap_or_default();
        Self { caller, mode }
    }
}

/// Subjects of two issuers are two callers. Many may be without a name.
fn caller(principal: &Principal) -> Caller {
    match principal.name() {
        "" => Caller::default(),
        name => Caller::new(serde_json::json!([principal.issuer(), name]).to_string()),
    }
}
