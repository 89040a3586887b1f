//! Generated clients cause no warnings, whatever the trait is.

#![deny(warnings, missing_docs, missing_debug_implementations, unreachable_pub, clippy::all)]

use trunkline::client::{Client, Notification, Pending};
use trunkline::{ErrorObject, Router, rpc};

/// A public service.
#[rpc(namespace = "service")]
pub trait Service {
    /// Has params with names of generated items.
    #[example(params = 1, r#type = 2, client = 3 => 4)]
    async fn params(&self, params: u8, r#type: Option<u8>, client: u8) -> Result<u8, ErrorObject>;

    /// Returns a type with the name of a generated item.
    fn hidden(&self, name: Params) -> Params;

    /// Has the name of a method of `Clone`.
    fn clone(&self, #[param(default = 1)] count: u64) -> &'static str;

    /// Sends a notification.
    #[notification]
    async fn ring(&self);

    /// Is configured out.
    #[cfg(any())]
    fn absent(&self) -> Absent;

    /// Is deprecated.
    #[deprecated]
    fn old(&self);
}

/// Has the name of a generated item.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Params;

mod inner {
    /// A service that is visible to its parent only, with an unused client.
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

/// A trait without a client.
#[rpc(server)]
trait Generic<T: serde::Serialize + Send> {
    fn rows(&self) -> Vec<T>;
}

impl Generic<u8> for u8 {
    fn rows(&self) -> Vec<u8> {
        vec![*self]
    }
}

/// Calls all methods, with the types of the trait.
pub fn call(service: &ServiceClient) -> (Pending<u8, ErrorObject>, Notification) {
    let Client { .. } = service.client();
    drop(service.hidden(Params));
    drop(service.clone(2));
    drop(service.clone(None));
    let cloned: ServiceClient = Clone::clone(service);
    (cloned.params(1, None, 2), service.ring())
}

#[test]
fn is_accepted() {
    let _: Router = inner::Inner::into_router(1);
    let _: Router = Generic::into_router(1);
}
