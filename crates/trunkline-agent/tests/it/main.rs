//! Tests of the agent over HTTP, with a scripted model server.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

mod caller;
mod calls_in_text;
mod capabilities;
mod chat;
mod configuration;
mod context;
mod conversation;
mod crash;
mod event_streams;
mod model_extra;
mod model_replies;
mod model_server;
mod recorded_streams;
#[cfg(unix)]
mod reload;
mod storage;
mod support;
mod timeouts;
mod turn_limits;
