//! The future of a call.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::outcome::Outcome;

/// A future of the outcome of a call, or of the error of a layer or a transport. That of a handler that is not async is
/// ready.
pub type CallFuture<E = Infallible> = MaybeReady<Result<Outcome, E>>;

/// A value that is ready, or the boxed future of one.
pub struct MaybeReady<T>(State<T>);

enum State<T> {
    Ready(Option<T>),
    Boxed(Pin<Box<dyn Future<Output = T> + Send>>),
}

impl CallFuture {
    /// A future that is ready with this outcome.
    #[inline]
    #[must_use]
    pub fn ready(outcome: Outcome) -> Self {
        Self::value(Ok(outcome))
    }

    /// Boxes a future of an outcome.
    pub fn from_future(future: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self::boxed(async move { Ok(future.await) })
    }

    /// The outcome, if it is ready.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.0 {
            State::Ready(ended) => ended.as_ref().and_then(|ended| ended.as_ref().ok()),
            State::Boxed(_) => None,
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
    #[inline]
    pub fn map(self, map: impl FnOnce(Outcome) -> Outcome + Send + 'static) -> Self {
        self.then(|Ok(outcome)| Ok(map(outcome)))
    }

    /// Runs the functions of the guard if this future is dropped before it completes.
    #[inline]
    pub fn guarded(self, guard: Option<CancelGuard>) -> Self {
        let Some(mut guard) = guard else { return self };
        self.map(move |outcome| {
            guard.disarm();
            outcome
        })
    }
}

impl<T: Send + 'static> MaybeReady<T> {
    /// A future that is ready with this value.
    #[inline]
    #[must_use]
    pub fn value(value: T) -> Self {
        Self(State::Ready(Some(value)))
    }

    /// Boxes a future.
    pub fn boxed(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(State::Boxed(Box::pin(future)))
    }

    /// The future of a service. It is boxed unless it has this type.
    #[inline]
    pub fn of<F>(future: F) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut future = Some(future);
        let own = (&mut future as &mut dyn Any).downcast_mut().and_then(Option::<Self>::take);
        match (own, future) {
            (Some(own), _) => own,
            (None, Some(future)) => Self::boxed(future),
            (None, None) => unreachable!("a future of this type is taken above"),
        }
    }

    /// Whether the value is ready.
    #[inline]
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.0, State::Ready(_))
    }

    /// Converts the value.
    #[inline]
    pub fn then<U: Send + 'static>(
        self,
        convert: impl FnOnce(T) -> U + Send + 'static,
    ) -> MaybeReady<U> {
        match self.0 {
            State::Ready(value) => MaybeReady(State::Ready(value.map(convert))),
            State::Boxed(future) => MaybeReady::boxed(async move { convert(future.await) }),
        }
    }

    /// Polls a future that is not ready in `poll` to its end, for layers around each poll of a call.
    pub fn polled_by(
        mut self,
        mut poll: impl FnMut(&mut Self, &mut Context<'_>) -> Poll<T> + Send + 'static,
    ) -> Self {
        if self.is_ready() {
            return self;
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
impl<T> Unpin for MaybeReady<T> {}

/// # Panics
/// When polled after completion.
impl<T> Future for MaybeReady<T> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            State::Ready(value) => Poll::Ready(value.take().expect("polled once when ready")),
            State::Boxed(future) => future.as_mut().poll(cx),
        }
    }
}

impl<T> fmt::Debug for MaybeReady<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaybeReady")
    }
}
