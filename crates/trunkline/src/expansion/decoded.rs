//! What params and the data of errors are read into, which says what is wrong with their types.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

/// What a param can be.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a param",
    label = "does not implement `serde::Deserialize`, or borrows",
    note = "params deserialise, and own what they hold; other values are taken with `#[extract]`"
)]
pub trait ServerParam: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> ServerParam for T {}

/// What the field of an error can be.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent as the data of an error",
    label = "does not implement `serde::Serialize` and `serde::Deserialize`",
    note = "with `#[rpc(internal)]` on the variant it is logged, and clients see -32603"
)]
pub trait ErrorData: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> ErrorData for T {}

/// A param as it came. It is missing where `T` would be.
#[derive(Debug)]
pub struct Param<T>(pub T);

impl<'de, T: ServerParam> Deserialize<'de> for Param<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

/// The field of an error as it came.
#[derive(Debug)]
pub struct Received<T>(pub T);

impl<'de, T: ErrorData> Deserialize<'de> for Received<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

/// The field of an error on its way. What it is asked for is said once, here.
pub fn error_data<T: ErrorData>(value: &T) -> impl Serialize {
    value
}
