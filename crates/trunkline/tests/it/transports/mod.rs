//! One suite over every transport, and what only some of them have.

mod cancelling;
mod child;
mod framed;
mod hostile;
#[path = "../../../examples/stdio_server/service.rs"]
mod service;
mod serving;
mod stopping;
mod streams;
mod suite;
mod tls;
mod unix;
