use trunkline::RpcError;

#[derive(Debug, RpcError)]
enum Error {
    #[rpc(code = 1, message = "cannot read: {0}")]
    Read(std::io::Error),
    #[rpc(code = 2, message = "cannot write {name}: {cause}")]
    Write { name: String, cause: std::io::Error },
}

fn main() {}
