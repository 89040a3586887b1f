//! The OpenRPC document and its endpoint.

mod described;
mod endpoint;
mod recursive;

use serde_json::Value;
use trunkline::{Operation, Router};

/// The document of a service with these operations.
fn document(operations: impl IntoIterator<Item = Operation>) -> Value {
    let router = operations.into_iter().fold(Router::new(), Router::operation);
    let rpc = router.build().unwrap();
    let document: Value = serde_json::from_str(rpc.openrpc().as_json()).unwrap();
    let of_value = serde_json::to_value(rpc.openrpc()).unwrap();
    assert_eq!(document, of_value, "serialization and text must be equal");
    document
}
