//! JSON-RPC 2.0 servers over HTTP, unix sockets, stdin and stdout, and byte streams.
//!
//! Applications use the crate `trunkline`, which re-exports this one. A transport passes bodies to a
//! [`Dispatcher`](trunkline_core::dispatch::Dispatcher) and sends its replies. Properties of the client, such as
//! its address, are extensions of the calls.

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

/// The examples of the README are compiled and run with those of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
