//! One binary of tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod capabilities;
mod caller;
mod chat;
mod chat_settings;
mod context;
mod conversation;
mod conversation_kill;
mod house;
mod planner;
mod replies;
#[cfg(unix)]
mod reload;
mod scripted;
mod storage;
#[cfg(unix)]
mod tools;
mod turn_bounds;
