//! The calls of typed clients.

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

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

/// Named values to be sent, in order: the params of a call, or the data of an error.
#[derive(Debug, Default)]
pub struct Members<T>(T);

impl Members<()> {
    /// No values.
    #[must_use]
    pub fn new() -> Self {
        Self(())
    }
}

impl<T> Members<T> {
    /// Adds a value. `None` is omitted.
    #[must_use]
    pub fn with<V>(
        self,
        name: &'static str,
        value: Option<V>,
    ) -> Members<(T, &'static str, Option<V>)> {
        Members((self.0, name, value))
    }
}

impl<T: WriteMembers> Serialize for Members<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.write(&mut map)?;
        map.end()
    }
}

/// Writes values to a map.
pub trait WriteMembers {
    /// Writes all values.
    ///
    /// # Errors
    /// Those of the map.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl WriteMembers for () {
    fn write<M: SerializeMap>(&self, _map: &mut M) -> Result<(), M::Error> {
        Ok(())
    }
}

impl<T: WriteMembers, V: Serialize> WriteMembers for (T, &'static str, Option<V>) {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let (before, name, value) = self;
        before.write(map)?;
        value.as_ref().map_or(Ok(()), |value| map.serialize_entry(name, value))
    }
}

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
