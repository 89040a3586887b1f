#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    #[notification]
    fn log(&self, line: String) -> usize {
        line.len()
    }
}

fn main() {}
