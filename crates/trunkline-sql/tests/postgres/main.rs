//! Tests with a PostgreSQL server, run by `cargo xtask postgres`, and the contract of both engines.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod contract;
mod fixture;
mod hostile;
mod inspections;
#[path = "../../../trunkline-postgres/tests/server/mod.rs"]
mod server;
mod values;
mod visibility;
