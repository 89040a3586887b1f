#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    fn first(&self, #[param(variadic)] all: Vec<u8>, last: u8) {}

    fn default(&self, #[param(variadic, default = vec![1])] all: Vec<u8>) {}
}

fn main() {}
