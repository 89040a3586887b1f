//! The calls of typed clients.

use serde::Serialize;
use serde::de::DeserializeOwned;

use trunkline_client::Pending;

/// What a typed client can send.
#[diagnostic::on_unimplemented(
    message = "a client cannot send `{Self}`",
    label = "does not implement `serde::Serialize`",
    note = "derive `serde::Serialize` for it, or leave the client out: `#[rpc(server)]` on the trait"
)]
pub trait ClientParam: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + ?Sized> ClientParam for T {}

/// What a typed client can read.
#[diagnostic::on_unimplemented(
    message = "a client cannot read `{Self}`",
    label = "does not implement `serde::Deserialize`, or borrows",
    note = "derive `serde::Deserialize` for it and let it own what it holds, or leave the client out: `#[rpc(server)]` on the trait"
)]
pub trait ClientResult: DeserializeOwned + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + 'static> ClientResult for T {}

/// A param on its way. What it is asked for is said once, here.
pub fn param<T: ClientParam + ?Sized>(value: &T) -> impl Serialize {
    value
}

/// The call with the types of its method.
pub fn typed<R: ClientResult, E>(call: Pending<R>) -> Pending<R, E> {
    call.errors()
}

/// The types behind an alias such as `io::Result<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is called `Result`, and is none",
    note = "a method returns `Result<T, E>`, an alias of it, or a type of another name"
)]
pub trait Fallible {
    /// Of success.
    type Value;
    /// Of failure.
    type Error;
}

impl<T, E> Fallible for Result<T, E> {
    type Value = T;
    type Error = E;
}
