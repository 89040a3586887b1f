#[derive(Debug, RpcError, thiserror::Error)]
enum FindError {
    #[error("no such table")]
    #[rpc(code = 10)]
    NoTable { table: String },
    #[error("the database failed")]
    #[rpc(internal)]
    Database(#[from] DatabaseError),
}
