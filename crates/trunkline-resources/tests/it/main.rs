//! Commands through the doors that their clients take: natively, as JSON-RPC, in EDN, as MCP tools.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, which is what it is for")]

mod adapter;
mod called;
mod doors;
mod edn;
mod execute;
mod execute_failures;
mod execute_http;
mod history;
mod load;
mod messages;
mod repeat;
mod revert;
mod rows;
mod rows_kept;
mod seed;
mod served;
