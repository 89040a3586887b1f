#[derive(Debug, RpcError, thiserror::Error)]
enum FindError {
    #[error("no table {table:?}")]
    #[rpc(code = 10)]
    NoTable { table: String },
    #[error("interrupted")]
    #[rpc(code = 11)]
    Interrupted,
    #[error(transparent)]
    #[rpc(code = 12)]
    BadQuery(ParseError),
    #[rpc(code = 13)]
    Busy,
    #[error("the database failed")]
    #[rpc(internal)]
    Database(#[from] DatabaseError),
}
