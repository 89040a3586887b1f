//! One binary of tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod caller;
mod capabilities;
mod chat;
mod chat_settings;
mod context;
mod conversation;
mod conversation_kill;
mod house;
#[cfg(unix)]
mod reload;
mod replies;
mod scripted;
mod storage;
mod streams;
mod turn_bounds;
mod written_calls;
