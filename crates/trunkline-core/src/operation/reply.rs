//! Return types of handlers.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::marker::PhantomData;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::call::CallFuture;
use crate::error::RpcError;
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
pub struct Immediate<M>(PhantomData<M>);

/// Marker of handlers that return a future.
#[derive(Debug)]
pub struct Deferred<M>(PhantomData<M>);

impl<M, T: IntoOutcome<M>> IntoReply<Immediate<M>> for T {
    const IMMEDIATE: bool = true;

    fn into_reply(self) -> CallFuture {
        CallFuture::ready(self.into_outcome())
    }
}

impl<M, F> IntoReply<Deferred<M>> for F
where
    F: Future<Output: IntoOutcome<M>> + Send + 'static,
{
    const IMMEDIATE: bool = false;

    fn into_reply(self) -> CallFuture {
        CallFuture::from_future(async move { self.await.into_outcome() })
    }
}

/// A type that handlers may return as a result. `M` is inferred.
///
/// Implemented by `Result<T, E>` where `T: IntoResult` and `E: RpcError`, by common types such as numbers, strings,
/// `Vec` and `Option`, and by [`Json`] for any other `Serialize`. (Not by every `Serialize`, since a `Result`
/// implements that as well, and its error would be sent as a success.)
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a handler's result",
    note = "wrap a value that serialises in `trunkline::Json`, or return `Result<T, E>` where `E: RpcError`"
)]
pub trait IntoOutcome<M = Serialized> {
    /// Returns the outcome of the call.
    fn into_outcome(self) -> Outcome;
}

/// A type that handlers may return in a `Result`. `M` is inferred.
///
/// Implemented by every `Serialize`. A [codec](crate::format::Codec) implements it for its own values with its own
/// marker `M`, so that results [keep](Outcome::from_native) what JSON cannot represent. A `Result` with a value that
/// serialises as well does not compile, since it is not known which of the two is meant.
pub trait IntoResult<M> {
    /// Returns the outcome of the call.
    fn into_result(self) -> Outcome;
}

/// Marker of results that are serialised.
#[derive(Debug)]
pub enum Serialized {}

impl<T: Serialize> IntoResult<Serialized> for T {
    fn into_result(self) -> Outcome {
        Outcome::result(&self)
    }
}

/// Returns any `Serialize` value as a result.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoOutcome for Json<T> {
    fn into_outcome(self) -> Outcome {
        Outcome::result(&self.0)
    }
}

impl<M, T: IntoResult<M>, E: RpcError> IntoOutcome<M> for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_result(),
            Err(error) => Outcome::error(error.into_error_object()),
        }
    }
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
