//! The library's tests, through the doors that its users take.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, which is what it is for")]

mod access;
mod batch;
mod cases_http;
mod cases_jsonrpc;
mod client;
mod compile;
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
mod rpc_described;
mod rpc_error;
mod rpc_macro;
mod server;
mod soak;
mod support;
mod transports;
mod typed_client;
