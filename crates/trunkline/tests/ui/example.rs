#![allow(unused_variables)]

use trunkline::rpc;

struct Service;

#[rpc]
impl Service {
    #[example(dividnd = 7 => 3.5)]
    #[example(dividend = 7, dividend = 8 => 3.5)]
    #[example(dividend = 7)]
    #[example(dividend => 3.5)]
    #[example(dividend = 7 => 3.5, 4.5)]
    #[example(dividend = => 1)]
    #[example(dividend = 7 => )]
    fn halve(&self, dividend: f64) -> f64 {
        dividend / 2.0
    }

    #[example(peer = 1)]
    fn clear(&self, #[extract] peer: trunkline::CallId) {}
}

fn main() {}
