//! Tests with a PostgreSQL server, run by `cargo xtask postgres`, and the contract of both engines.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/checkpoints.rs"]
mod checkpoints;
#[path = "../support/rules.rs"]
mod checks;
mod contract;
mod documents;
mod errors;
mod failures;
mod fixture;
mod hostile;
mod inspections;
mod objects;
mod pgbouncer;
mod repeated;
mod rules;
mod secrets;
mod transfer;
mod types;
mod values;
mod visibility;
mod writes;

use trunkline_test_postgres as server;
