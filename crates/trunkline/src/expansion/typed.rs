//! The calls of typed clients.

use serde::Serialize;
use serde::de::DeserializeOwned;

use trunkline_client::Pending;

/// A value that a typed client can send.
#[diagnostic::on_unimplemented(
    message = "a client cannot send `{Self}`",
    label = "does not implement `serde::Serialize`",
    note = "derive `serde::Serialize` for it, or put `#[rpc(server)]` on the trait to generate no client"
)]
pub trait ClientParam: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + ?Sized> ClientParam for T {}

/// A result that a typed client can read.
#[diagnostic::on_unimplemented(
    message = "a client cannot read `{Self}`",
    label = "does not implement `serde::Deserialize`, or borrows data",
    note = "derive `serde::Deserialize` for an owned type, or put `#[rpc(server)]` on the trait to generate no client"
)]
pub trait ClientResult: DeserializeOwned + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + 'static> ClientResult for T {}

/// A param to be sent. A missing implementation is reported once, for this function.
pub fn param<T: ClientParam + ?Sized>(value: &T) -> impl Serialize {
    value
}

/// The call with the types of its method.
pub fn typed<R: ClientResult, E>(call: Pending<R>) -> Pending<R, E> {
    call.errors()
}

/// The types of a `Result` or an alias of it, such as `io::Result<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `std::result::Result`",
    note = "the return type of a method is `Result<T, E>`, an alias of it, or a type with another name"
)]
pub trait Fallible {
    /// The type of success.
    type Value;
    /// The type of failure.
    type Error;
}

impl<T, E> Fallible for Result<T, E> {
    type Value = T;
    type Error = E;
}
