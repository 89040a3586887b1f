//! The future of a call.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::outcome::Outcome;

/// A future of the outcome of a call.
///
/// For a handler that is not async, it holds the outcome, without a boxed future.
pub struct CallFuture(State);

enum State {
    Ready(Option<Outcome>),
    Deferred(Pin<Box<dyn Future<Output = Outcome> + Send>>),
}

impl CallFuture {
    /// A future that is ready with this outcome.
    #[must_use]
    pub fn ready(outcome: Outcome) -> Self {
        Self(State::Ready(Some(outcome)))
    }

    /// Boxes a future of an outcome.
    pub fn from_future(future: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self(State::Deferred(Box::pin(future)))
    }

    /// The outcome, if it is ready.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.0 {
            State::Ready(outcome) => outcome.as_ref(),
            State::Deferred(_) => None,
        }
    }

    /// Returns the outcome, if it is ready.
    ///
    /// # Errors
    /// This future, if the outcome is not ready.
    pub fn into_outcome(self) -> Result<Outcome, Self> {
        match self.0 {
            State::Ready(Some(outcome)) => Ok(outcome),
            state => Err(Self(state)),
        }
    }

    /// Runs the functions of the guard if this future is dropped before it completes.
    pub fn guarded(self, guard: Option<CancelGuard>) -> Self {
        match (self.0, guard) {
            (State::Deferred(future), Some(mut guard)) => Self::from_future(async move {
                let outcome = future.await;
                guard.disarm();
                outcome
            }),
            (state, Some(mut guard)) => {
                guard.disarm();
                Self(state)
            }
            (state, None) => Self(state),
        }
    }
}

/// Functions to run if a call is cancelled, that is, if its future is dropped before it completes.
#[derive(Default)]
pub struct CancelGuard(Vec<Box<dyn FnOnce() + Send + Sync>>);

impl CancelGuard {
    pub(super) fn add(&mut self, run: impl FnOnce() + Send + Sync + 'static) {
        self.0.push(Box::new(run));
    }

    fn disarm(&mut self) {
        self.0.clear();
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|run| run());
    }
}

/// # Panics
/// When polled after completion.
impl Future for CallFuture {
    type Output = Result<Outcome, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(outcome) => {
                Poll::Ready(Ok(outcome.take().expect("polled once when ready")))
            }
            State::Deferred(future) => future.as_mut().poll(cx).map(Ok),
        }
    }
}

impl fmt::Debug for CallFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallFuture")
    }
}
