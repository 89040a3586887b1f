//! Stores on real files. What a test has to wait for, it waits for by a channel.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod fixture;
mod groups;
mod limits;
mod opening;
mod reads;
