//! Execution of operations for methods that wrap them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use trunkline::protocol::CallFuture;
use trunkline::{Call, ErrorObject, Outcome};

use super::Server;
use super::context::Envelope;
use crate::era::Era;

impl Server {
    /// Runs a redirected call through the layers of its operation. `write` creates the result of the wrapping method
    /// from the outcome, outside of the layers.
    pub(super) fn run_operation(
        &self,
        call: Call,
        era: Era,
        write: impl FnOnce(Outcome, &Envelope) -> Outcome + Send + 'static,
    ) -> CallFuture {
        let envelope = self.envelope(era);
        self.rpc.run(call).map(move |outcome| {
            let written = catch_unwind(AssertUnwindSafe(|| write(outcome, &envelope)));
            written.unwrap_or_else(|_| {
                Outcome::error(ErrorObject::internal(&"the rendering of the outcome panicked"))
            })
        })
    }

    pub(super) fn envelope(&self, era: Era) -> Envelope {
        Envelope { era, tail: self.results.tail(era) }
    }
}
