//! Commands over the protocols of their clients: native, JSON-RPC, EDN, MCP.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, which is what it is for")]

mod adapter;
mod called;
mod edn;
mod execute;
mod execute_failures;
mod execute_http;
mod history;
mod load;
mod messages;
mod protocols;
mod repeat;
mod revert;
mod rows;
mod rows_kept;
mod seed;
mod served;
