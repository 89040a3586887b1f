//! Isolation of panics: a handler that panics fails only its own call.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use tower::{Layer, Service};
use trunkline_core::call::Call;
use trunkline_core::error::ErrorObject;
use trunkline_core::outcome::Outcome;

use super::future::{RefusableFuture, Watch, WatchedFuture};

/// Converts panics of handlers and inner layers into -32603.
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

    pub(super) fn guard(self) -> PanicGuard {
        PanicGuard { on: self.on }
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

/// Converts a panic into -32603 and logs its message.
///
/// Requires `panic = "unwind"`, Rust's default.
#[derive(Debug, Clone)]
pub struct CatchPanic<S> {
    inner: S,
    on: bool,
}

impl<S, E> Service<Call> for CatchPanic<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
{
    type Response = Outcome;
    type Error = E;
    type Future = RefusableFuture<WatchedFuture<S::Future, PanicGuard>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let on = self.on;
        let start = || WatchedFuture::new(self.inner.call(call), PanicGuard { on });
        if !on {
            return RefusableFuture::running(start());
        }
        // Handlers that are not async run here.
        match catch_unwind(AssertUnwindSafe(start)) {
            Ok(running) => RefusableFuture::running(running),
            Err(panic) => RefusableFuture::refused(error_of(&*panic)),
        }
    }
}

/// Catches the panics of a running call, if it is on.
#[derive(Debug)]
pub struct PanicGuard {
    on: bool,
}

impl<E> Watch<E> for PanicGuard {
    type Error = E;

    fn poll(
        &mut self,
        poll: impl FnOnce() -> Poll<Result<Outcome, E>>,
    ) -> Poll<Result<Outcome, E>> {
        if !self.on {
            return poll();
        }
        catch_unwind(AssertUnwindSafe(poll))
            .unwrap_or_else(|panic| Poll::Ready(Ok(Outcome::error(error_of(&*panic)))))
    }
}

fn error_of(panic: &(dyn Any + Send)) -> ErrorObject {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)");
    ErrorObject::internal(&format_args!("a handler panicked: {message}"))
}
