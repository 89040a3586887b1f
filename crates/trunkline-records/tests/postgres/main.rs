//! Commands on records in a PostgreSQL database, run by `cargo xtask postgres`.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod engine;
#[path = "../it/execute.rs"]
mod execute;
#[path = "../it/execute_failures.rs"]
mod execute_failures;
#[path = "../it/execute_http.rs"]
mod execute_http;
#[path = "../it/history.rs"]
mod history;
#[path = "../it/messages.rs"]
mod messages;
#[path = "../it/repeat.rs"]
mod repeat;
#[path = "../it/revert.rs"]
mod revert;
#[path = "../it/rows.rs"]
mod rows;
#[path = "../it/test_server.rs"]
mod test_server;
