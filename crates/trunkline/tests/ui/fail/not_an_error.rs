use trunkline::rpc;

struct Plain;

struct Service;

#[rpc]
impl Service {
    fn read(&self) -> Result<String, std::io::Error> {
        std::fs::read_to_string("file")
    }

    async fn plain(&self) -> Plain {
        Plain
    }

    async fn take(&self, plain: Plain) {}

    fn extract(&self, #[extract] plain: Plain) {}
}

fn main() {}
