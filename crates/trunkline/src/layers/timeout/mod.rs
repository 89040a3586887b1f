//! A deadline for each call.

mod future;
mod layer;
mod pulse;

use std::task::{Context, Poll};
use std::time::Duration;

use tower::Service;

use crate::call::Call;
use crate::outcome::Outcome;

pub use future::TimeoutFuture;
pub use layer::TimeoutLayer;

use pulse::Pulse;

/// Drops a call whose time is up and answers -32004 in its place.
///
/// The timer is armed when the call is first found unfinished, so calls that end at once cost
/// nothing.
#[derive(Debug, Clone)]
pub struct Timeout<S> {
    inner: S,
    limit: Option<Duration>,
    /// Whether an operation's own time is put in the place of this one.
    yields: bool,
    pulse: Pulse,
}

impl<S, E> Service<Call> for Timeout<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = TimeoutFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let own =
            call.operation().filter(|_| self.yields).and_then(|operation| operation.timeout());
        let limit = own.or(self.limit).map(|after| (after, self.pulse.clone()));
        TimeoutFuture::new(self.inner.call(call), limit)
    }
}
