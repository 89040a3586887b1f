//! Wrappers for the deserialization of params and error data, with compiler messages for unsuitable types.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

/// A type that can be a param.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a param",
    label = "does not implement `serde::Deserialize`, or borrows data",
    note = "params are owned types that implement `serde::Deserialize`; mark extractors with `#[extract]`"
)]
pub trait ServerParam: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> ServerParam for T {}

/// A type that can be a field of an error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent as the data of an error",
    label = "does not implement `serde::Serialize` and `serde::Deserialize`",
    note = "put `#[rpc(internal)]` on the variant to log the error and send -32603"
)]
pub trait ErrorData: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> ErrorData for T {}

/// A received param. It may be missing if `T` may be.
#[derive(Debug)]
pub struct Param<T>(pub T);

impl<'de, T: ServerParam> Deserialize<'de> for Param<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

/// A received field of an error.
#[derive(Debug)]
pub struct Received<T>(pub T);

impl<'de, T: ErrorData> Deserialize<'de> for Received<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

/// A field of an error to be sent. A missing implementation is reported once, for this function.
pub fn error_data<T: ErrorData>(value: &T) -> impl Serialize {
    value
}
