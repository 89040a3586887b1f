use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::ErrorObject;
use crate::outcome::Outcome;

/// The future of a call that may panic.
pub struct CatchPanicFuture<F>(State<F>);

enum State<F> {
    Running(F),
    Unguarded(F),
    Panicked(Option<Outcome>),
}

impl<F> CatchPanicFuture<F> {
    pub(super) fn new(inner: F) -> Self {
        Self(State::Running(inner))
    }

    pub(super) fn unguarded(inner: F) -> Self {
        Self(State::Unguarded(inner))
    }

    pub(super) fn panicked(panic: &(dyn Any + Send)) -> Self {
        Self(State::Panicked(Some(failed(panic))))
    }
}

impl<F, E> Future for CatchPanicFuture<F>
where
    F: Future<Output = Result<Outcome, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Running(inner) => {
                match catch_unwind(AssertUnwindSafe(|| Pin::new(inner).poll(cx))) {
                    Ok(poll) => poll,
                    Err(panic) => Poll::Ready(Ok(failed(&*panic))),
                }
            }
            State::Unguarded(inner) => Pin::new(inner).poll(cx),
            State::Panicked(outcome) => {
                Poll::Ready(Ok(outcome.take().expect("polled once when ready")))
            }
        }
    }
}

fn failed(panic: &(dyn Any + Send)) -> Outcome {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)");
    Outcome::error(ErrorObject::internal(&format_args!("a handler panicked: {message}")))
}

impl<F> fmt::Debug for CatchPanicFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CatchPanicFuture")
    }
}
