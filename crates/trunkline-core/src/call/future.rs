//! The future of a call.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::outcome::Outcome;

/// A future of the outcome of a call, or of the error of a layer or a transport.
///
/// For a handler that is not async, it holds the outcome, without a boxed future.
pub struct CallFuture<E = Infallible>(State<E>);

enum State<E> {
    Ready(Option<Result<Outcome, E>>),
    Deferred(Pin<Box<dyn Future<Output = Result<Outcome, E>> + Send>>),
}

impl CallFuture {
    /// Boxes a future of an outcome.
    pub fn from_future(future: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self::boxed(async move { Ok(future.await) })
    }

    /// The outcome, if it is ready.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.0 {
            State::Ready(ended) => ended.as_ref().and_then(|ended| ended.as_ref().ok()),
            State::Deferred(_) => None,
        }
    }

    /// Returns the outcome, if it is ready.
    ///
    /// # Errors
    /// This future, if the outcome is not ready.
    pub fn into_outcome(self) -> Result<Outcome, Self> {
        match self.0 {
            State::Ready(Some(Ok(outcome))) => Ok(outcome),
            state => Err(Self(state)),
        }
    }

    /// Maps the outcome.
    pub fn map(self, map: impl FnOnce(Outcome) -> Outcome + Send + 'static) -> Self {
        self.then(|Ok(outcome)| Ok(map(outcome)))
    }

    /// Runs the functions of the guard if this future is dropped before it completes.
    pub fn guarded(self, guard: Option<CancelGuard>) -> Self {
        let Some(mut guard) = guard else { return self };
        self.map(move |outcome| {
            guard.disarm();
            outcome
        })
    }
}

impl<E: Send + 'static> CallFuture<E> {
    /// A future that is ready with this outcome.
    #[must_use]
    pub fn ready(outcome: Outcome) -> Self {
        Self(State::Ready(Some(Ok(outcome))))
    }

    /// A future that is ready with an error.
    #[must_use]
    pub fn failed(error: E) -> Self {
        Self(State::Ready(Some(Err(error))))
    }

    /// Boxes a future of an outcome or an error.
    pub fn boxed(future: impl Future<Output = Result<Outcome, E>> + Send + 'static) -> Self {
        Self(State::Deferred(Box::pin(future)))
    }

    /// The future of a service. It is boxed unless it is a `CallFuture`.
    pub fn of<F>(future: F) -> Self
    where
        F: Future<Output = Result<Outcome, E>> + Send + 'static,
    {
        let mut future = Some(future);
        let own = (&mut future as &mut dyn Any).downcast_mut().and_then(Option::<Self>::take);
        match (own, future) {
            (Some(own), _) => own,
            (None, Some(future)) => Self::boxed(future),
            (None, None) => unreachable!("a future of this type is taken above"),
        }
    }

    /// Whether the outcome is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.0, State::Ready(_))
    }

    /// Converts what the call ends with.
    pub fn then<E2: Send + 'static>(
        self,
        end: impl FnOnce(Result<Outcome, E>) -> Result<Outcome, E2> + Send + 'static,
    ) -> CallFuture<E2> {
        match self.0 {
            State::Ready(Some(ended)) => CallFuture(State::Ready(Some(end(ended)))),
            State::Ready(None) => CallFuture(State::Ready(None)),
            State::Deferred(future) => CallFuture::boxed(async move { end(future.await) }),
        }
    }

    /// Polls the future in `poll` to its end, for layers around each poll of a call.
    pub fn polled_by(
        mut self,
        mut poll: impl FnMut(&mut Self, &mut Context<'_>) -> Poll<Result<Outcome, E>> + Send + 'static,
    ) -> Self {
        if self.is_ready()
            && let Poll::Ready(ended) = poll(&mut self, &mut Context::from_waker(Waker::noop()))
        {
            return Self(State::Ready(Some(ended)));
        }
        Self::boxed(poll_fn(move |cx| poll(&mut self, cx)))
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

/// The future can be moved while it is pinned: what it polls is boxed.
impl<E> Unpin for CallFuture<E> {}

/// # Panics
/// When polled after completion.
impl<E> Future for CallFuture<E> {
    type Output = Result<Outcome, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(ended) => Poll::Ready(ended.take().expect("polled once when ready")),
            State::Deferred(future) => future.as_mut().poll(cx),
        }
    }
}

impl<E> fmt::Debug for CallFuture<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallFuture")
    }
}
