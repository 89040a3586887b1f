#![allow(unused_variables)]

use trunkline::rpc;

#[rpc]
trait Names {
    fn new(&self) -> u8;
    fn client(&self) -> u8;
    fn item(&self) -> Self::Item;
    type Item: Clone;
}

#[rpc]
trait Parameters<T> {
    fn rows(&self) -> Vec<T>;
}

struct Service;

#[rpc(server)]
impl Service {
    fn new(&self) {}
}

#[rpc(client)]
trait Unknown {}

fn main() {}
