#[rpc(server)]
trait Store<K> {
    fn rows(&self) -> Vec<K>;
}
