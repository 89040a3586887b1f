//! The futures of calls in layers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use trunkline_core::error::ErrorObject;
use trunkline_core::outcome::Outcome;

/// Part of a layer that runs around each poll of a call, and is dropped with it.
pub trait Watch<E> {
    /// The error of the watched call.
    type Error;

    /// Polls the call, whose errors are `E`.
    fn poll(
        &mut self,
        poll: impl FnOnce() -> Poll<Result<Outcome, E>>,
    ) -> Poll<Result<Outcome, Self::Error>>;
}

pin_project! {
    /// The future of a call that a layer watches to its end.
    pub struct WatchedFuture<F, W> {
        #[pin]
        inner: F,
        watch: W,
    }
}

impl<F, W> WatchedFuture<F, W> {
    pub(super) fn new(inner: F, watch: W) -> Self {
        Self { inner, watch }
    }
}

impl<F, W, E> Future for WatchedFuture<F, W>
where
    F: Future<Output = Result<Outcome, E>>,
    W: Watch<E>,
{
    type Output = Result<Outcome, W::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let inner = this.inner;
        this.watch.poll(|| inner.poll(cx))
    }
}

impl<F, W> fmt::Debug for WatchedFuture<F, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedFuture")
    }
}

pin_project! {
    /// The future of a call that a layer may refuse before it runs.
    pub struct RefusableFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        Running { #[pin] inner: F },
        Refused { outcome: Option<Outcome> },
    }
}

impl<F> RefusableFuture<F> {
    pub(super) fn running(inner: F) -> Self {
        Self { state: State::Running { inner } }
    }

    pub(super) fn refused(error: ErrorObject) -> Self {
        Self { state: State::Refused { outcome: Some(Outcome::error(error)) } }
    }
}

impl<F, E> Future for RefusableFuture<F>
where
    F: Future<Output = Result<Outcome, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Running { inner } => inner.poll(cx),
            StateProjection::Refused { outcome } => {
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
