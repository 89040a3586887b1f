use tokio::time::Instant;
use trunkline_core::call::Call;
use trunkline_core::error::ErrorObject;

use super::retry::Idempotent;

/// A call as it was made, or why its params cannot be sent.
#[derive(Debug)]
pub(super) struct Made {
    call: Result<Call, ErrorObject>,
    /// Whether it may be made again.
    pub(super) is_idempotent: bool,
}

impl Made {
    pub(super) fn new(call: Result<Call, ErrorObject>) -> Self {
        Self { call, is_idempotent: false }
    }

    /// The call on its way, which has until then.
    pub(super) fn prepared(self, until: Instant) -> Result<Call, ErrorObject> {
        let mut call = self.call?;
        if self.is_idempotent {
            call.extensions_mut().insert(Idempotent { until });
        }
        Ok(call)
    }
}
