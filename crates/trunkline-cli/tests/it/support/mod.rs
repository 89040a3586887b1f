//! Support for tests: processes, connections, databases, and comparison of parts of JSON.

mod collector;
mod database;
mod http;
mod json;
mod mcp_server;
mod model;
mod pipe;
mod process;
mod terminal;
mod yaml;

use std::time::Duration;

pub(crate) use collector::{Collector, Replies, attributes};
pub(crate) use database::{files, tpch, with_content};
pub(crate) use http::{Connection, Reply, post};
pub(crate) use json::{cases, mismatch};
pub(crate) use mcp_server::{McpServer, PICTURE};
pub(crate) use model::{Model, Question, Speech};
pub(crate) use process::{Ended, Server, cpu_time, run, runs, trunkline};
pub(crate) use terminal::{Terminal, in_session};
pub(crate) use yaml::documents;

/// The timeout of waits for events that are expected immediately. The machine may be slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A statement that runs forever and returns no row.
pub(crate) const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
