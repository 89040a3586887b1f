use super::FromCall;
use crate::call::Call;
use crate::error::ErrorObject;

/// Extracts a clone of the router's state, set by `with_state`.
#[derive(Debug, Clone, Copy, Default)]
pub struct State<S>(pub S);

impl<S: Clone> FromCall<S> for State<S> {
    fn from_call(_call: &mut Call, state: &S) -> Result<Self, ErrorObject> {
        Ok(Self(state.clone()))
    }
}
