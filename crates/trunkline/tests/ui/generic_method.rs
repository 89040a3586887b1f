#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    fn any<T>(&self, value: T) {}

    fn anything(&self, value: impl ToString) {}

    unsafe fn dangerous(&self) {}
}

fn main() {}
