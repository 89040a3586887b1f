//! What handlers return, and the future that every call ends in.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::Serialize;
use serde_json::value::RawValue;
use tokio_util::sync::DropGuard;

#[cfg(feature = "edn")]
use crate::edn::outcome_of;
use crate::error::RpcError;
use crate::outcome::Outcome;

/// The outcome of a call, now or later.
///
/// A handler that is not async has its outcome at once and pays for no boxed future.
pub struct CallFuture(State);

enum State {
    Ready(Option<Outcome>),
    Later(Pin<Box<dyn Future<Output = Outcome> + Send>>),
}

impl CallFuture {
    /// An outcome that is already there.
    #[must_use]
    pub fn ready(outcome: Outcome) -> Self {
        Self(State::Ready(Some(outcome)))
    }

    /// An outcome that `future` will have.
    pub fn later(future: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self(State::Later(Box::pin(future)))
    }

    /// The outcome, if it is already there.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        match &self.0 {
            State::Ready(outcome) => outcome.as_ref(),
            State::Later(_) => None,
        }
    }

    /// Cancels the guard's token when this future is dropped before it is done.
    pub(crate) fn guarded(self, guard: Option<DropGuard>) -> Self {
        match (self.0, guard) {
            (State::Later(future), Some(guard)) => Self::later(async move {
                let outcome = future.await;
                guard.disarm();
                outcome
            }),
            (state, Some(guard)) => {
                guard.disarm();
                Self(state)
            }
            (state, None) => Self(state),
        }
    }
}

/// # Panics
/// When it is polled again after it was ready.
impl Future for CallFuture {
    type Output = Result<Outcome, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(outcome) => {
                Poll::Ready(Ok(outcome.take().expect("polled once when ready")))
            }
            State::Later(future) => future.as_mut().poll(cx).map(Ok),
        }
    }
}

impl fmt::Debug for CallFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallFuture")
    }
}

/// What a handler returns: a result, or a future of one. `M` tells which and is inferred.
pub trait IntoReply<M> {
    /// Whether the reply is there when the handler returns.
    const IMMEDIATE: bool;

    /// The reply of a call.
    fn into_reply(self) -> CallFuture;
}

/// Marks handlers that return their result.
#[derive(Debug)]
pub enum Immediate {}

/// Marks handlers that return a future of their result.
#[derive(Debug)]
pub enum Deferred {}

impl<T: IntoOutcome> IntoReply<Immediate> for T {
    const IMMEDIATE: bool = true;

    fn into_reply(self) -> CallFuture {
        CallFuture::ready(self.into_outcome())
    }
}

impl<F> IntoReply<Deferred> for F
where
    F: Future<Output: IntoOutcome> + Send + 'static,
{
    const IMMEDIATE: bool = false;

    fn into_reply(self) -> CallFuture {
        CallFuture::later(async move { self.await.into_outcome() })
    }
}

/// A handler's result.
///
/// `Result<T, E>` where `T` serialises and `E` is an [`RpcError`]; the types below; [`Json`] for
/// any other type that serialises. (Not every `Serialize`: a `Result` serialises too, and its
/// error would be sent as a success.)
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a handler's result",
    note = "wrap a value that serialises in `trunkline::Json`, or return `Result<T, E>` where `E: RpcError`"
)]
pub trait IntoOutcome {
    /// The outcome of the call.
    fn into_outcome(self) -> Outcome;
}

/// A result that is whatever `T` serialises to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoOutcome for Json<T> {
    fn into_outcome(self) -> Outcome {
        Outcome::result(&self.0)
    }
}

impl<T: Serialize + 'static, E: RpcError> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => outcome_of(value),
            Err(error) => Outcome::error(error.into_error_object()),
        }
    }
}

/// What a value serialises to. (With the feature `edn`, a `Value` keeps what JSON does not tell.)
#[cfg(not(feature = "edn"))]
fn outcome_of<T: Serialize>(value: T) -> Outcome {
    Outcome::result(&value)
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

macro_rules! outcomes {
    ($($plain:ty),* ; $([$($generic:ident),+] $type:ty),*) => {
        $(outcomes!(@ [] $plain);)*
        $(outcomes!(@ [$($generic),+] $type);)*
    };
    (@ [$($generic:ident),*] $type:ty) => {
        impl<$($generic: Serialize),*> IntoOutcome for $type {
            fn into_outcome(self) -> Outcome {
                Outcome::result(&self)
            }
        }
    };
}

outcomes!(
    (), bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64,
    &'static str, String, serde_json::Value, Box<RawValue>;
    [T] Option<T>, [T] Vec<T>, [K, V] HashMap<K, V>, [K, V] BTreeMap<K, V>,
    [A, B] (A, B), [A, B, C] (A, B, C)
);
