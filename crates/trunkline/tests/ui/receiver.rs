#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    fn exclusive(&mut self) {}

    fn consuming(self) {}

    fn shared(self: std::sync::Arc<Self>) {}

    fn new() -> Self {
        Self
    }
}

fn main() {}
