//! Commands over all protocols: native, JSON-RPC, EDN, MCP.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod adapter;
mod called;
mod edn;
mod engine;
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
mod test_server;
