#![allow(unused_variables)]

use trunkline::RpcError;

#[derive(Debug, RpcError)]
enum Error {
    #[rpc(code = 1, message = "first")]
    First,
    #[rpc(code = 1, message = "second")]
    Second,
    #[rpc(code = 0x1, message = "third")]
    Third { field: u8 },
}

#[derive(Debug, RpcError)]
enum Reserved {
    #[rpc(code = -32099, message = "free, like the next three")]
    Server,
    #[rpc(code = -32015, message = "free")]
    Free,
    #[rpc(code = -31999, message = "free")]
    Above,
    #[rpc(code = -32769, message = "free")]
    Below,
    #[rpc(code = -32602, message = "the protocol's")]
    Protocol,
    #[rpc(code = -32768, message = "the lowest of them")]
    Lowest,
    #[rpc(code = -32005, message = "a code of ours, which clients take for a full server")]
    Busy,
    #[rpc(code = -32100, message = "the highest of them")]
    Highest,
    #[rpc(code = -32014, message = "the lowest of ours")]
    LowestUsed,
    #[rpc(code = -32000, message = "the highest of ours")]
    HighestUsed,
    #[rpc(code = 9223372036854775808, message = "too large")]
    Large,
    #[rpc(code = "1", message = "not a number")]
    Text,
    #[rpc(code = 1, internal, message = "both")]
    Both,
    #[rpc(message = "neither")]
    Neither,
    Bare,
}

fn main() {}
