//! PostgreSQL: the connections, their transactions, and the calls that run in them.
//!
//! Independent layers restrict callers: the privileges of the role, which [`Postgres::connect`] checks; a read-only
//! transaction for each reading call; one statement per call, by the extended protocol; the kind of the
//! statement and the functions in it; limits of time, rows and bytes.
//!
//! A connection pooler shares the sessions of the server with other clients ([`Pooling`],
//! `docs/decisions/0017-poolers.md`).

mod backend;
mod catalog;
mod config;
mod error;
mod execute;
mod params;
mod pool;
mod raw_sql;
mod role;
mod role_rule;
mod rows;
mod security;
mod session;
mod suggestions;
mod transaction;
mod value;
mod visibility;

pub use backend::Postgres;
pub use config::PostgresConfig;
pub use role_rule::RoleRule;
pub use trunkline_postgres::{ConnectError, Pooling, PostgresUrl, Sessions};
