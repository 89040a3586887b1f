#[derive(Debug, RpcError)]
pub enum MathError {
    #[rpc(code = 1, message = "division by zero")]
    DivisionByZero,
    #[rpc(code = 2, message = "{value} is out of range")]
    OutOfRange { value: i64, limit: i64 },
    #[rpc(code = 3, message = "cannot parse {0:?}")]
    Parse(String),
    #[rpc(code = -1, message = "{1} of {{0}}")]
    Pair(u8, u8),
    #[rpc(internal, message = "the store failed: {0}")]
    Store(io::Error),
}
