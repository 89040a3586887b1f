use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use trunkline::protocol::{CallFuture, Projection};
use trunkline::{Call, Extensions, Outcome, RpcError};

use super::command_of;
use crate::command::Command;

/// A function of commands as the methods `resource.command` of JSON-RPC.
struct Commands<F>(F);

/// Makes every method of two segments or more a command that `execute` answers: for
/// [`Rpc::projected`](trunkline::Rpc::projected).
///
/// The service then reads requests, batches and notifications, and renders results and errors; `execute`
/// need not know JSON-RPC. It is given what the transport knows of the caller, as that was given to
/// [`Rpc::handle`](trunkline::protocol::Dispatcher::handle). What it does not know it refuses with
/// [`ErrorObject::method_not_found`](trunkline::ErrorObject::method_not_found). Methods that are registered go before.
///
/// ```
/// use serde_json::{Value, json};
/// use trunkline::{ErrorObject, Extensions, Router};
/// use trunkline_resources::{Command, adapter};
///
/// async fn execute(command: Command, _caller: Extensions) -> Result<Value, ErrorObject> {
///     Ok(json!({ "status": "ok", "done": command.payload["done"] }))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rpc = Router::new().build()?.projected(adapter::commands(execute));
/// let request = r#"{"jsonrpc": "2.0", "method": "todo.update", "params": {"id": "a", "done": true}, "id": 1}"#;
/// let reply = rpc.handle(request.into(), Extensions::new()).await;
/// assert_eq!(
///     reply.into_json().as_deref(),
///     Some(&br#"{"jsonrpc":"2.0","result":{"done":true,"status":"ok"},"id":1}"#[..])
/// );
/// # Ok(())
/// # }
/// ```
pub fn commands<F, R, T, E>(execute: F) -> Arc<dyn Projection>
where
    F: Fn(Command, Extensions) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize,
    E: RpcError,
{
    let answer = move |command: Command, caller: Extensions| {
        let result = execute(command, caller);
        CallFuture::later(async move {
            match result.await {
                Ok(result) => Outcome::result(&result),
                Err(error) => Outcome::error(error.into_error_object()),
            }
        })
    };
    Arc::new(Commands(answer))
}

impl<F: Fn(Command, Extensions) -> CallFuture + Send + Sync + 'static> Projection for Commands<F> {
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
