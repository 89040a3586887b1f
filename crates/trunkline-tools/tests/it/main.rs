//! Tools that are commands.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

mod changes;
mod ending;
mod launched;
mod recorded;
mod rejected;
mod results;
mod support;
