//! A handler that panics fails its own call only.

mod future;
mod layer;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use tower::Service;

use crate::call::Call;
use crate::outcome::Outcome;

pub use future::CatchPanicFuture;
pub use layer::CatchPanicLayer;

/// Turns a panic into -32603 and logs its message.
///
/// Needs `panic = "unwind"`, Rust's default.
#[derive(Debug, Clone)]
pub struct CatchPanic<S> {
    inner: S,
    on: bool,
}

impl<S, E> Service<Call> for CatchPanic<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = CatchPanicFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        if !self.on {
            return CatchPanicFuture::unguarded(self.inner.call(call));
        }
        // Handlers that are not async run right here.
        match catch_unwind(AssertUnwindSafe(|| self.inner.call(call))) {
            Ok(inner) => CatchPanicFuture::new(inner),
            Err(panic) => CatchPanicFuture::panicked(&*panic),
        }
    }
}
