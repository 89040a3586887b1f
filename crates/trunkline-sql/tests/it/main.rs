//! The crate through its public door.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod describe;
mod errors;
mod fixture;
mod hostile;
mod leaves_no_trace;
mod limits;
mod list;
mod raw;
mod records;
mod sample;
mod stops;
