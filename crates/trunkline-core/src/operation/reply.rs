//! Return types of handlers.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::call::CallFuture;
use crate::error::RpcError;
#[cfg(feature = "edn")]
use crate::format::edn::outcome_of;
use crate::outcome::Outcome;

/// The return type of a handler: a result, or a future of one. `M` distinguishes the two and is inferred.
pub trait IntoReply<M> {
    /// Whether the outcome is ready when the handler returns.
    const IMMEDIATE: bool;

    /// Returns the future of the outcome.
    fn into_reply(self) -> CallFuture;
}

/// Marker of handlers that return a result.
#[derive(Debug)]
pub enum Immediate {}

/// Marker of handlers that return a future.
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
        CallFuture::from_future(async move { self.await.into_outcome() })
    }
}

/// A type that handlers may return as a result.
///
/// Implemented by `Result<T, E>` where `T: Serialize` and `E: RpcError`, by common types such as numbers, strings,
/// `Vec` and `Option`, and by [`Json`] for any other `Serialize`. (Not by every `Serialize`, since a `Result`
/// implements that as well, and its error would be sent as a success.)
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a handler's result",
    note = "wrap a value that serialises in `trunkline::Json`, or return `Result<T, E>` where `E: RpcError`"
)]
pub trait IntoOutcome {
    /// Returns the outcome of the call.
    fn into_outcome(self) -> Outcome;
}

/// Returns any `Serialize` value as a result.
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

/// A result in JSON. (With the feature `edn`, a `Value` is kept as EDN.)
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
    ($($short:ty),* ; $($plain:ty),* ; $([$($generic:ident),+] $type:ty),*) => {
        $(
            impl IntoOutcome for $short {
                fn into_outcome(self) -> Outcome {
                    Outcome::short(&self)
                }
            }
        )*
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
    (), bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64;
    &'static str, String, serde_json::Value, Box<RawValue>;
    [T] Option<T>, [T] Vec<T>, [K, V] HashMap<K, V>, [K, V] BTreeMap<K, V>,
    [A, B] (A, B), [A, B, C] (A, B, C)
);
