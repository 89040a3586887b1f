//! The MCP server's tests, through the doors that its clients take.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, which is what it is for")]

mod cases;
mod changing;
mod edn;
mod history;
mod layers;
mod random;
mod sse;
mod stdio;
mod support;
mod telling;
