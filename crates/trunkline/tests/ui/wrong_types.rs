#![allow(unused_variables)]

use trunkline::{Router, State, rpc};

struct Plain;

struct Service;

#[rpc]
impl Service {
    fn read(&self) -> Result<String, std::io::Error> {
        std::fs::read_to_string("file")
    }

    async fn read_later(&self) -> std::io::Result<String> {
        self.read()
    }
}

struct Extracting;

#[rpc]
impl Extracting {
    fn extract(&self, #[extract] plain: Plain) {}
}

struct Stateful;

#[rpc]
impl Stateful {
    fn count(&self, #[extract] State(count): State<u8>) {}
}

fn main() {
    let _: Router = Extracting.into_router();
    let _: Router<u16> = Stateful.into_router();
}
