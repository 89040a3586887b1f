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
        let key = extensions.get::<Principal>().and_then(Principal::owner_key);
        let caller = key.map(Caller::new).unwrap_or_default();
        let mode = extensions.get::<Mode>().copied().unwrap_or_default();
        Self { caller, mode }
    }
}
