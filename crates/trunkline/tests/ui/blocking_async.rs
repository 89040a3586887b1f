#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    #[rpc(blocking)]
    async fn wait(&self) {}
}

fn main() {}
