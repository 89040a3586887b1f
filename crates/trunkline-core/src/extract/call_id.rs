use super::FromCall;
use crate::call::Call;
use crate::error::ErrorObject;
use crate::id::Id;

/// Extracts the call's id; a notification has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallId(pub Option<Id>);

impl<S> FromCall<S> for CallId {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self(call.id()))
    }
}
