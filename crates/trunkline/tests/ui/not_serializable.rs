use trunkline::rpc;

struct Plain;

struct Service;

#[rpc]
impl Service {
    fn value(&self) -> Plain {
        Plain
    }

    async fn later(&self) -> Vec<Plain> {
        vec![]
    }
}

fn main() {}
