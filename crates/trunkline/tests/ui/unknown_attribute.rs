#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc(name = "service")]
impl Service {
    fn one(&self) {}
}

#[rpc(namespace = "")]
impl Second {
    fn two(&self) {}
}

#[rpc]
impl Third {
    #[rpc(skipped)]
    fn three(&self) {}

    fn params(&self, #[param(optional)] a: u8, #[extract] #[param(default = 1)] b: u8, #[param] c: u8) {}

    #[rpc(name = "a", name = "b")]
    #[notification(now)]
    fn four(&self) {}
}

fn main() {}

struct Second;

struct Third;
