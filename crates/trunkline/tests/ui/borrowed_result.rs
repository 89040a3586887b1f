#![allow(unused_variables)]

use trunkline::rpc;

struct Service {
    name: String,
}

#[rpc]
impl Service {
    fn name(&self) -> &str {
        &self.name
    }

    fn fixed(&self) -> &'static str {
        "fixed"
    }
}

fn main() {}
