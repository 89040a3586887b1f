//! Stores on real files. Tests wait for events through channels.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod engine;
mod files;
mod fixture;
mod groups;
mod limits;
mod opening;
mod reads;
mod sqlite;
