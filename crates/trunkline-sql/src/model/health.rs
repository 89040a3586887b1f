//! The state of a database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table_name;

/// Returns the state of the database.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckHealth {}

/// The state of a database, with problems that an operator can fix.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DatabaseHealth {
    /// The engine.
    pub engine: &'static str,
    /// Its version.
    pub version: String,
    /// The size in bytes.
    pub size_bytes: u64,
    /// The problems; 50 at most.
    pub problems: Vec<HealthProblem>,
    /// Facts about SQLite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqlite: Option<SqliteHealth>,
    /// Facts about PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<PostgresHealth>,
}

/// A problem and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HealthProblem {
    /// The kind: `corrupt`, `unchecked`, `free_pages`, `large_wal`, `unindexed_foreign_key`, `few_connections`,
    /// `low_cache_hits`, `dead_tuples`, `long_transaction`, `unused_index`.
    pub kind: &'static str,
    /// The table, if the problem concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The problem.
    pub problem: String,
    /// The remedy, often in SQL.
    pub remedy: String,
}

/// The state of a SQLite file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SqliteHealth {
    /// The size of a page in bytes.
    pub page_size: u64,
    /// Number of pages.
    pub pages: u64,
    /// Number of unused pages.
    pub free_pages: u64,
    /// The size of the write-ahead log in bytes; 0 without a log.
    pub wal_bytes: u64,
    /// The result of `PRAGMA quick_check`: `ok`, `failed`, or `unfinished` if the time of the call was not sufficient.
    pub quick_check: &'static str,
}

/// The state of a PostgreSQL server, as the role of the connection sees it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PostgresHealth {
    /// `own` if each connection has its own session, and `shared` if a connection pooler shares sessions.
    pub sessions: &'static str,
    /// Number of connections of all clients.
    pub connections: u64,
    /// The maximum number of connections.
    pub max_connections: u64,
    /// The share of blocks of this database that were found in the cache since the statistics began. Null without reads.
    pub cache_hit_ratio: Option<f64>,
    /// Number of dead row versions in all tables.
    pub dead_tuples: u64,
    /// Number of transactions in this database that have run for more than five minutes.
    pub long_transactions: u64,
}

/// Maximum number of problems in a reply.
pub(crate) const MAX_PROBLEMS: usize = 50;

/// A name for an index, without the schema of the table.
fn index_name(table: &str, columns: &[String]) -> String {
    format!("{}_{}", table_name::bare(table), columns.join("_"))
}

/// The problem of a foreign key whose columns no index begins with.
pub(crate) fn unindexed_foreign_key(table: &str, columns: &[String]) -> HealthProblem {
    let list = columns.join(", ");
    HealthProblem {
        kind: "unindexed_foreign_key",
        table: Some(table.to_owned()),
        problem: format!(
            "no index begins with the foreign key ({list}), so a change of the referenced table scans this one"
        ),
        remedy: format!("CREATE INDEX {} ON {table} ({list})", index_name(table, columns)),
    }
}
