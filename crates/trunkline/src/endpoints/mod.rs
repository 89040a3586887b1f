//! HTTP endpoints other than JSON-RPC: history, logs, metrics and OpenRPC.

mod error;
pub(crate) mod history;
pub(crate) mod logs;
pub(crate) mod metrics;
mod openrpc;
mod readers;
