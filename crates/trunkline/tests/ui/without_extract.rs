use trunkline::access::Principal;
use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    async fn greet(&self, who: Option<Principal>, greeting: String) -> String {
        format!("{greeting}, {who:?}")
    }
}

fn main() {}
