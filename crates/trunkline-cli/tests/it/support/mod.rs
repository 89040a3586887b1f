//! What the tests share: the process, its socket, databases, and a way to compare JSON by parts.

mod database;
mod http;
mod json;
mod model;
mod pipe;
mod process;
mod terminal;

use std::time::Duration;

pub(crate) use database::{files, tpch, with_content};
pub(crate) use http::{Connection, post};
pub(crate) use json::{cases, mismatch};
pub(crate) use model::{Model, Question, Speech};
pub(crate) use process::{Ended, Server, run, runs, trunkline};
pub(crate) use terminal::Terminal;

/// Longest time that anything may take which is expected to happen at once. The machine may be slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Counts for ever, and gives no row.
pub(crate) const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
