//! A test suite over all transports, and tests of single ones.

mod cancelling;
mod child;
mod client_certificates;
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
