//! All kinds of error types.

#[derive(Debug, trunkline::RpcError)]
enum Shapes<T> {
    #[rpc(code = 1, message = "unit")]
    Unit,
    #[rpc(code = -31999, message = "{0:?} {1}")]
    Tuple(Vec<T>, u8),
    #[rpc(code = -32769, message = "{{{field}}}")]
    Named { field: T },
    #[rpc(internal, message = "internal")]
    Internal(std::io::Error),
}

#[derive(Debug, trunkline::RpcError)]
#[rpc(code = 2, message = "struct")]
struct Struct {
    field: u8,
}

fn is_error<E: std::error::Error + trunkline::RpcError>(_: E) {}

fn source(error: Shapes<u8>) -> Option<std::io::ErrorKind> {
    match error {
        Shapes::Internal(error) => Some(error.kind()),
        _ => None,
    }
}

#[test]
fn is_accepted() {
    is_error(Shapes::<u8>::Unit);
    assert_eq!(
        source(Shapes::Internal(std::io::ErrorKind::Other.into())),
        Some(std::io::ErrorKind::Other)
    );
    is_error(Struct { field: 1 });
}
