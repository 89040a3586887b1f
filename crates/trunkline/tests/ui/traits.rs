#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    #[rpc(read_only, destructive)]
    fn one(&self) {}

    #[rpc(tool = "read file")]
    fn two(&self) {}

    #[rpc(title = "")]
    fn three(&self) {}

    #[rpc(title = "a", title = "b")]
    fn four(&self) {}
}

fn main() {}
