use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use trunkline::protocol::{CallFuture, ProtocolMethods};
use trunkline::{Call, Extensions, Outcome, RpcError};

use super::command_of;
use crate::command::Command;

/// A command handler as the JSON-RPC methods `resource.command`.
struct Commands<F>(F);

/// Passes every method with at least two segments to `execute` as a command, for
/// [`Rpc::with_protocol_methods`](trunkline::Rpc::with_protocol_methods).
///
/// The service parses requests, batches and notifications, and serialises results and errors; `execute` is independent
/// of JSON-RPC. It receives the caller's extensions, as passed to
/// [`Rpc::handle`](trunkline::protocol::Dispatcher::handle), and returns
/// [`ErrorObject::method_not_found`](trunkline::ErrorObject::method_not_found) for unknown commands. Registered methods
/// take precedence.
///
/// ```
/// use serde_json::{Value, json};
/// use trunkline::{ErrorObject, Extensions, Router};
/// use trunkline_records::{Command, adapter};
///
/// async fn execute(command: Command, _caller: Extensions) -> Result<Value, ErrorObject> {
///     Ok(json!({ "status": "ok", "done": command.payload["done"] }))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rpc = Router::new().build()?.with_protocol_methods(adapter::commands(execute));
/// let request = r#"{"jsonrpc": "2.0", "method": "todo.update", "params": {"id": "a", "done": true}, "id": 1}"#;
/// let reply = rpc.handle(request.into(), Extensions::new()).await;
/// assert_eq!(
///     reply.into_json().as_deref(),
///     Some(&br#"{"jsonrpc":"2.0","result":{"done":true,"status":"ok"},"id":1}"#[..])
/// );
/// # Ok(())
/// # }
/// ```
pub fn commands<F, R, T, E>(execute: F) -> Arc<dyn ProtocolMethods>
where
    F: Fn(Command, Extensions) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize,
    E: RpcError,
{
    let handler = move |command: Command, caller: Extensions| {
        let result = execute(command, caller);
        CallFuture::from_future(async move {
            match result.await {
                Ok(result) => Outcome::result(&result),
                Err(error) => Outcome::error(error.into_error_object()),
            }
        })
    };
    Arc::new(Commands(handler))
}

impl<F: Fn(Command, Extensions) -> CallFuture + Send + Sync + 'static> ProtocolMethods
    for Commands<F>
{
    fn has(&self, _method: &str) -> bool {
        true
    }

    fn call(&self, call: Call) -> CallFuture {
        match command_of(&call) {
            Ok(command) => (self.0)(command, call.extensions().clone()),
            Err(error) => CallFuture::ready(Outcome::error(error)),
        }
    }
}

impl<F> fmt::Debug for Commands<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Commands")
    }
}
