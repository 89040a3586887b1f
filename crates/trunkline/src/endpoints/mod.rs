//! What a server shows over HTTP besides calls.

pub(crate) mod history;
pub(crate) mod logs;
pub(crate) mod metrics;
mod openrpc;
mod readers;
mod refused;
