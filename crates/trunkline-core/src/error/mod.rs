//! Failures: what a client sees, and what only the log sees.

pub mod code;
mod object;
mod rpc_error;

pub use object::ErrorObject;
pub use rpc_error::{BoxError, ErrorDescription, RpcError};
