//! Integration tests, through the public API and its transports.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod access;
mod batch;
mod cases_http;
mod cases_jsonrpc;
mod client;
#[path = "../../../trunkline-edn/tests/it/compile_errors.rs"]
mod compile_errors;
mod converted;
mod dynamic;
mod edn;
mod examples;
mod extractors;
mod features;
mod history;
mod http2;
mod http_guard;
mod layers;
mod openrpc;
mod params;
mod process;
mod protocol;
mod resilience;
pub mod rpc_accepted;
mod rpc_described;
mod rpc_error;
mod rpc_macro;
mod rpc_refused;
mod server;
mod soak;
mod support;
mod transports;
mod typed_client;
