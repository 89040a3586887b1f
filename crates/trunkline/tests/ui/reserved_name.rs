#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc(namespace = "rpc")]
impl Service {
    fn discover(&self) {}
}

#[rpc]
impl Second {
    #[rpc(name = "rpc.ping")]
    fn ping(&self) {}
}

fn main() {}

struct Second;
