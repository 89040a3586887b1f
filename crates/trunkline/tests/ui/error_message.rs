#![allow(unused_variables)]

use trunkline::RpcError;

#[derive(Debug, RpcError)]
enum Mixed {
    #[rpc(code = 1, message = "with")]
    With,
    #[rpc(code = 2)]
    Without,
}

#[derive(Debug, RpcError)]
enum Placeholders {
    #[rpc(code = 1, message = "{valeu}")]
    Named { value: u8 },
    #[rpc(code = 2, message = "{1}")]
    Tuple(u8),
    #[rpc(code = 3, message = "{}")]
    Empty(u8),
}

fn main() {}
