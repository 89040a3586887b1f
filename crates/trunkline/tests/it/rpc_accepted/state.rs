//! Services merge with routers of any state, or of the state that they extract.

#![deny(warnings)]

use trunkline::{Call, ErrorObject, FromCall, Router, State, rpc};

/// A state.
#[derive(Clone)]
pub struct Database;

struct Private;

impl<S> FromCall<S> for Private {
    fn from_call(_: &mut Call, _: &S) -> Result<Self, ErrorObject> {
        Ok(Self)
    }
}

/// A service of any state.
pub struct Service;

#[rpc]
impl Service {
    fn ping(&self, #[extract] _private: Private) {}
}

/// A service of one state.
pub struct Stateful;

#[rpc]
impl Stateful {
    fn count(&self, #[extract] State(_): State<Database>, #[extract] State(_): State<Database>) {}
}

/// A trait of one state.
#[rpc]
pub trait Trait {
    /// Has an extractor.
    async fn count_more(&self, #[extract] database: State<Database>);
}

impl Trait for Stateful {
    async fn count_more(&self, _: State<Database>) {}
}

#[test]
fn is_accepted() {
    let router: Router<Database> = Router::new().merge(Service.into_router());
    let router = router.merge(Stateful.into_router()).merge(Trait::into_router(Stateful));
    let _: Router = router.with_state(Database);
}
