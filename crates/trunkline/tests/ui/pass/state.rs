//! Services merge with routers of any state.

use trunkline::{Router, State, rpc};

#[derive(Clone)]
struct Database;

struct Service;

#[rpc]
impl Service {
    fn ping(&self) {}
}

fn main() {
    let router: Router<Database> = Router::new().merge(Service.into_rpc());
    let router = router.method("count", |State(_): State<Database>| 1);
    let _: Router = router.with_state(Database);
}
