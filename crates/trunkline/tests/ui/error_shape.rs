#![allow(unused_variables)]

use trunkline::RpcError;

#[derive(Debug, RpcError)]
enum Never {}

#[derive(Debug, RpcError)]
#[rpc(code = 1, message = "on the enum")]
enum OnTheEnum {
    #[rpc(code = 1, message = "on the variant")]
    One,
}

#[derive(Debug, RpcError)]
#[rpc(code = 1, message = "{0}")]
struct Borrowed<'a>(&'a str);

#[derive(RpcError)]
union Union {
    a: u8,
}

fn main() {}
