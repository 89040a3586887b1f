#![allow(unused_variables)]

use trunkline::RpcError;

#[derive(Debug, RpcError)]
enum Silent {
    #[rpc(code = 1)]
    One,
}

fn main() {}
