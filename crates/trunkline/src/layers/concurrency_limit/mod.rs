//! A bound on the calls that run at the same time.

mod future;
mod layer;

use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::Semaphore;
use tower::Service;

use crate::call::Call;
use crate::outcome::Outcome;

pub use future::ConcurrencyLimitFuture;
pub use layer::ConcurrencyLimitLayer;

/// Lets a number of calls run and the others wait for their turn.
///
/// Handlers that are not async are not counted: each runs on its thread to its end, so the
/// runtime's threads bound them.
///
/// All clones share one count. It waits in the call's future, not in `poll_ready`, so a timeout
/// around it counts the wait too.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit<S> {
    inner: S,
    permits: Option<Arc<Semaphore>>,
}

impl<S, E> Service<Call> for ConcurrencyLimit<S>
where
    S: Service<Call, Response = Outcome, Error = E> + Clone + Unpin,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = ConcurrencyLimitFuture<S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let immediate = call.operation().is_some_and(|operation| operation.is_immediate());
        let Some(permits) = self.permits.as_ref().filter(|_| !immediate) else {
            return ConcurrencyLimitFuture::running(self.inner.call(call), None);
        };
        match Arc::clone(permits).try_acquire_owned() {
            Ok(permit) => ConcurrencyLimitFuture::running(self.inner.call(call), Some(permit)),
            Err(_) => {
                ConcurrencyLimitFuture::waiting(self.inner.clone(), call, Arc::clone(permits))
            }
        }
    }
}
