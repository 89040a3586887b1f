//! Services merge with routers of any state, or of the state that they extract.

#![deny(warnings)]

use trunkline::{Call, ErrorObject, FromCall, Router, State, rpc};

#[derive(Clone)]
pub struct Database;

struct Private;

impl<S> FromCall<S> for Private {
    fn from_call(_: &mut Call, _: &S) -> Result<Self, ErrorObject> {
        Ok(Self)
    }
}

pub struct Service;

#[rpc]
impl Service {
    fn ping(&self, #[extract] _private: Private) {}
}

pub struct Stateful;

#[rpc]
impl Stateful {
    fn count(&self, #[extract] State(_): State<Database>, #[extract] State(_): State<Database>) {}
}

#[rpc]
pub trait Trait {
    async fn count_more(&self, #[extract] database: State<Database>);
}

impl Trait for Stateful {
    async fn count_more(&self, _: State<Database>) {}
}

fn main() {
    let router: Router<Database> = Router::new().merge(Service.into_router());
    let router = router.merge(Stateful.into_router()).merge(Trait::into_router(Stateful));
    let _: Router = router.with_state(Database);
}
