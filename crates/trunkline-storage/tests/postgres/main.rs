//! The tests of stores with a PostgreSQL server, run by `cargo xtask postgres`.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod engine;
#[path = "../it/fixture.rs"]
mod fixture;
#[path = "../it/groups.rs"]
mod groups;
#[path = "../it/limits.rs"]
mod limits;
#[path = "../it/opening.rs"]
mod opening;
#[path = "../it/reads.rs"]
mod reads;
mod sessions;
