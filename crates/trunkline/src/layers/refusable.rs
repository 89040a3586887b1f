//! What comes of a call, or the refusal in its place.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use trunkline_core::error::ErrorObject;
use trunkline_core::outcome::Outcome;

/// The future of a call that a layer may refuse before it runs.
pub struct RefusableFuture<F>(State<F>);

enum State<F> {
    Running(F),
    Refused(Option<Outcome>),
}

impl<F> RefusableFuture<F> {
    pub(crate) fn running(inner: F) -> Self {
        Self(State::Running(inner))
    }

    pub(crate) fn refused(error: ErrorObject) -> Self {
        Self(State::Refused(Some(Outcome::error(error))))
    }
}

impl<F, E> Future for RefusableFuture<F>
where
    F: Future<Output = Result<Outcome, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Running(inner) => Pin::new(inner).poll(cx),
            State::Refused(outcome) => {
                Poll::Ready(Ok(outcome.take().expect("polled once when ready")))
            }
        }
    }
}

impl<F> fmt::Debug for RefusableFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefusableFuture")
    }
}
