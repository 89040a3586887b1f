#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc(namespace = "service")]
impl Service {
    fn one(&self) {}

    #[rpc(name = "one")]
    fn two(&self) {}

    fn three(&self, a: u8, #[param(name = "a")] b: u8) {}
}

fn main() {}
