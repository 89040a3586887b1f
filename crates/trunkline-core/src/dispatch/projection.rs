use std::fmt;

use crate::call::{Call, CallFuture};

/// The methods of a protocol that is spoken in JSON-RPC, and that are no operations but stand for
/// calls of them: MCP's `tools/call` is one.
///
/// A method that is registered is an operation, whatever a projection makes of its name.
pub trait Projection: fmt::Debug + Send + Sync + 'static {
    /// Answers a call of a method that is not registered.
    fn project(&self, call: Call) -> Projected;
}

/// What a projection makes of a call.
#[derive(Debug)]
pub enum Projected {
    /// The method is the protocol's: this is its outcome.
    Answered(CallFuture),
    /// The method is not the protocol's.
    Unknown(Box<Call>),
}
