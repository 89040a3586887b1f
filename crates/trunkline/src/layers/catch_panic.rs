//! Isolation of panics: a handler that panics fails only its own call.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use trunkline_core::call::{Call, CallFuture};
use trunkline_core::error::ErrorObject;
use trunkline_core::outcome::Outcome;

use super::layered::{CallLayer, CallService, layer};

/// Converts panics of handlers and inner layers into -32603, and logs their messages.
///
/// Requires `panic = "unwind"`, Rust's default.
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

layer!(CatchPanicLayer);

impl CallLayer for CatchPanicLayer {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        if !self.on {
            return inner.run(call);
        }
        // Handlers that are not async run here.
        let future =
            catch(|| inner.run(call)).unwrap_or_else(|outcome| CallFuture::value(Ok(outcome)));
        future.polled_by(|future, cx| {
            catch(|| Pin::new(future).poll(cx)).unwrap_or_else(|outcome| Poll::Ready(Ok(outcome)))
        })
    }
}

/// The error of a panic in `work`.
fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Outcome> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Outcome::error(error_of(&*panic)))
}

fn error_of(panic: &(dyn Any + Send)) -> ErrorObject {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)");
    ErrorObject::internal(&format_args!("a handler panicked: {message}"))
}
