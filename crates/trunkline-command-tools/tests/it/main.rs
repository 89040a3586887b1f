//! Tests of command-line tools as operations.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

mod changes;
mod history;
mod launcher;
mod rejected;
mod results;
mod support;
mod termination;
