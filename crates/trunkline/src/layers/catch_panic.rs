//! A handler that panics fails its own call only.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use tower::{Layer, Service};

use trunkline_core::call::Call;
use trunkline_core::error::ErrorObject;
use trunkline_core::outcome::Outcome;

/// Turns panics of handlers and inner layers into -32603.
#[derive(Debug, Clone, Copy)]
pub struct CatchPanicLayer {
    on: bool,
}

impl CatchPanicLayer {
    /// Catches panics.
    #[must_use]
    pub fn new() -> Self {
        Self::switched(true)
    }

    pub(crate) fn switched(on: bool) -> Self {
        Self { on }
    }
}

impl Default for CatchPanicLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for CatchPanicLayer {
    type Service = CatchPanic<S>;

    fn layer(&self, inner: S) -> CatchPanic<S> {
        CatchPanic { inner, on: self.on }
    }
}

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

/// The future of a call that may panic.
pub struct CatchPanicFuture<F>(State<F>);

enum State<F> {
    Running(F),
    Unguarded(F),
    Panicked(Option<Outcome>),
}

impl<F> CatchPanicFuture<F> {
    fn new(inner: F) -> Self {
        Self(State::Running(inner))
    }

    fn unguarded(inner: F) -> Self {
        Self(State::Unguarded(inner))
    }

    fn panicked(panic: &(dyn Any + Send)) -> Self {
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
