#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    fn pair(&self, (a, b): (u8, u8)) -> u8 {
        a + b
    }

    fn ignored(&self, _: u8) {}
}

fn main() {}
