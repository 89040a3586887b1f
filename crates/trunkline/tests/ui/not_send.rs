use std::rc::Rc;

use trunkline::rpc;

#[rpc]
trait Service {
    async fn wait(&self) {
        let local = Rc::new(1);
        std::future::ready(()).await;
        drop(local);
    }
}

fn main() {}
