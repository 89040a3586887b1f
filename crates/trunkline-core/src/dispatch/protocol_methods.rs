use std::fmt;

use crate::call::{Call, CallFuture};

/// The methods of a protocol that is spoken in JSON-RPC, and that are no operations but stand for
/// calls of them: MCP's `tools/call` is one.
///
/// A method that is registered is an operation, whatever a projection makes of its name.
pub trait ProtocolMethods: fmt::Debug + Send + Sync + 'static {
    /// Whether the protocol has this method.
    fn has(&self, method: &str) -> bool;

    /// Answers a call of a method that the protocol has, and that is not registered.
    fn call(&self, call: Call) -> CallFuture;
}
