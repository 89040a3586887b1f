#[derive(Debug, RpcError)]
#[rpc(code = 7, message = "{key} conflicts with {other:?}")]
pub struct Conflict<K> {
    key: K,
    other: Vec<K>,
    place: u8,
}
