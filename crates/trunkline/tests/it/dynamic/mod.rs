//! Operations that are replaced while a service runs.

mod counted;
mod listed;
mod loaded;
mod rejected;
mod wrapped;

use serde_json::Value;
use tokio::runtime::Builder;
use trunkline::{DynamicOperations, Operation, Router, Rpc};

/// Methods with these names. Each returns its name.
fn named<const N: usize>(names: [&'static str; N]) -> Router {
    names.into_iter().fold(Router::new(), |router, name| router.method(name, move || name))
}

/// A service with the method `ping` and dynamic operations under `tool.`
fn service() -> (Rpc, DynamicOperations) {
    let tools = DynamicOperations::new();
    (named(["ping"]).dynamic("tool", &tools).build().unwrap(), tools)
}

/// A router with one tool.
fn tool(method: &str, tool: &str) -> Router {
    Router::new().operation(Operation::new(method, || 1).tool(tool))
}

/// The result of a call without params, or the error code.
fn call(rpc: &Rpc, method: &str) -> Result<Value, i64> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(rpc.call(method, &[0; 0])).map_err(|error| error.code())
}

fn names(rpc: &Rpc) -> Vec<String> {
    rpc.operations().iter().map(|operation| operation.name().to_owned()).collect()
}
