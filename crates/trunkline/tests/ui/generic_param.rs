#![allow(unused_variables)]

use trunkline::rpc;

struct Search<T>(T);

#[rpc]
impl<T: Send + Sync + Default + 'static> Search<T> {
    fn find(&self, query: Vec<T>) {}

    fn default(&self, #[param(default = Self::LIMIT)] limit: u8) {}
}

fn main() {}
