#![allow(unused_variables)]

use trunkline::{RpcError, rpc};

#[rpc]
fn function() {}

#[rpc(code = 1, message = "before the derive")]
#[derive(Debug, RpcError)]
struct Early;

#[trunkline::rpc(code = 1, message = "not a helper")]
struct Qualified;

trait Service {
    fn ping(&self);
}

struct Implementor;

#[rpc]
impl Service for Implementor {
    fn ping(&self) {}
}

fn main() {}
