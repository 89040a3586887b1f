use tokio_util::sync::CancellationToken;

use super::FromCall;
use crate::call::Call;
use crate::error::ErrorObject;

/// Extracts a token that is cancelled when nobody waits for the call any more: its client is
/// gone, its deadline has passed, or the server has stopped.
///
/// An async handler is dropped then and needs no token; it is for work that goes on elsewhere, on
/// a thread or in a database. A call that has ended by itself does not cancel its token.
impl<S> FromCall<S> for CancellationToken {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let token = Self::new();
        let cancelled = token.clone();
        call.on_cancel(move || cancelled.cancel());
        Ok(token)
    }
}
