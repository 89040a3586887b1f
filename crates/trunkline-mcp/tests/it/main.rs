//! The MCP server's tests, over all transports.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod authorization;
mod cases;
mod confirmations;
mod dynamic_tools;
mod edn;
mod heartbeats;
mod history;
mod layers;
mod listed_names;
mod listing;
mod lost_sessions;
mod mcp_client;
mod nodes;
mod notifications;
mod oauth;
mod offers;
mod random;
mod requests;
mod sessions;
mod sse;
mod stdio;
mod subscriptions;
mod support;
mod tasks;
mod unread_ids;
