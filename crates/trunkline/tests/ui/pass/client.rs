//! A client is free of warnings in a crate that allows none, whatever its trait looks like.

#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, clippy::all)]

use trunkline::client::{Client, Notification, Pending};
use trunkline::{ErrorObject, Router, rpc};

/// A public service.
#[rpc(namespace = "service")]
pub trait Service {
    /// Takes what is called as items of the expansion are.
    #[example(params = 1, r#type = 2, client = 3 => 4)]
    async fn params(&self, params: u8, r#type: Option<u8>, client: u8) -> Result<u8, ErrorObject>;

    /// Gives back something that is called as an item of the expansion is.
    fn hidden(&self, name: Params) -> Params;

    /// Has a name that every client's clone has, too.
    fn clone(&self, #[param(default = 1)] count: u64) -> &'static str;

    /// Says nothing.
    #[notification]
    async fn tell(&self);

    /// Is there if it is there.
    #[cfg(any())]
    fn absent(&self) -> Absent;

    /// Is not called any more.
    #[deprecated]
    fn old(&self);
}

/// Is called as an item of the expansion is.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Params;

mod inner {
    /// A service that its parent alone sees, whose client is used nowhere.
    #[trunkline::rpc]
    pub(super) trait Inner {
        fn unused(&self, #[param(variadic)] rest: Vec<u8>);
    }

    #[cfg(any())]
    #[trunkline::rpc]
    pub(super) trait Absent {
        fn absent(&self) -> NoSuchType;
    }
}

impl inner::Inner for u8 {
    fn unused(&self, _rest: Vec<u8>) {}
}

/// Only served.
#[rpc(server)]
trait Generic<T: serde::Serialize + Send> {
    fn rows(&self) -> Vec<T>;
}

impl Generic<u8> for u8 {
    fn rows(&self) -> Vec<u8> {
        vec![*self]
    }
}

/// Calls everything, with the types that the trait names.
pub fn call(service: &ServiceClient) -> (Pending<u8, ErrorObject>, Notification) {
    let Client { .. } = service.client();
    drop(service.hidden(Params));
    drop(service.clone(2));
    drop(service.clone(None));
    let again: ServiceClient = Clone::clone(service);
    (again.params(1, None, 2), service.tell())
}

fn main() {
    let _: Router = inner::Inner::into_router(1);
    let _: Router = Generic::into_router(1);
}
