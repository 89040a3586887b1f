#![allow(unused_variables)]

//! One error each, though `into_router` is called: it is generated, with a body that never runs.

use trunkline::{Router, rpc};

struct Service;

#[rpc]
impl Service {
    fn exclusive(&mut self) {}
}

struct Generic<T>(T);

#[rpc]
impl<T: Clone> Generic<T> {
    #[rpc(skipped)]
    fn one(&self) {}
}

struct Named;

#[rpc(name = "service")]
impl Named {
    fn one(&self) {}
}

#[rpc(server)]
trait Served {
    fn any<T>(&self, value: T);
}

impl Served for u8 {
    fn any<T>(&self, value: T) {}
}

fn main() {
    let router: Router = Service.into_router();
    let router = router.merge(Generic(1_u8).into_router()).merge(Named.into_router());
    let router = router.merge(Served::into_router(1_u8));
    router.build().unwrap();
}
