//! Servers of JSON-RPC 2.0: HTTP, unix sockets, stdin and stdout, and streams of bytes.
//!
//! Applications use the crate `trunkline`, which re-exports this one. A transport hands bodies to a
//! [`Dispatcher`](trunkline_core::dispatch::Dispatcher) and sends its replies; what it knows of the sender are
//! extensions of the calls.

#![forbid(unsafe_code)]

pub mod http;
pub mod request;
pub mod server;
mod status;
pub mod stdio;
pub mod stream;
#[cfg(unix)]
pub mod unix;

pub use server::{Server, ServerHandle};
