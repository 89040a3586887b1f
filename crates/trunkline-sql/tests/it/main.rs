//! Tests of the public API.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod affected;
mod changes;
#[path = "../support/checkpoints.rs"]
mod checkpoints;
#[path = "../support/rules.rs"]
mod checks;
mod create_table;
mod defects;
mod describe;
mod documents;
mod errors;
mod fixture;
mod functions;
mod hostile;
mod insert;
mod inspections;
mod leaves_no_trace;
mod limits;
mod list;
mod name_lists;
mod operations;
#[path = "../../src/random.rs"]
mod random;
mod raw;
mod raw_writes;
mod records;
mod round_trip;
mod rules;
#[cfg(feature = "sample")]
mod sample;
mod saved_queries;
mod schemas;
mod several;
mod spellings;
mod stops;
mod transfer;
mod virtual_tables;
mod visibility;
mod writer;
