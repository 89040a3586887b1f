use std::fmt;

use crate::call::{Call, CallFuture};

/// Methods of a protocol on top of JSON-RPC that make calls of operations, such as `tools/call` of MCP.
///
/// A registered operation takes precedence over a protocol method of the same name.
pub trait ProtocolMethods: fmt::Debug + Send + Sync + 'static {
    /// Whether the protocol has this method.
    fn has(&self, method: &str) -> bool;

    /// Runs a call of a method of the protocol.
    fn call(&self, call: Call) -> CallFuture;
}
