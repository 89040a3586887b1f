//! Durable storage in a private database file, or in a PostgreSQL database, for the crates of trunkline that keep records.
//!
//! A [`Store`] runs closures on connections:
//!
//! * One thread writes. It runs all waiting work in one transaction, each closure in a savepoint, and answers all of it
//!   after the commit (*group commit*), since a durable commit takes a thousand times as long as most work.
//! * Several threads read concurrently with the writer, each in its own transaction.
//! * Work that has not started by its deadline, or was abandoned by its caller, never starts. Reads are interrupted.
//! * Queues are bounded. When one is full, work fails with [`StoreError::Busy`].
//! * When other queries of the process exhaust the heap limit of SQLite, a reserve of memory lets work complete.
//!
//! The file and its directory are readable by their owner only. A [`Schema`] contains the name of the file and the
//! migrations.
//!
//! Several processes can use a PostgreSQL database (feature `postgres`). Their writers take turns: a transaction begins
//! with a lock on the row of the store. Its tables are in the schema `trunkline`.
//!
//! ```
//! use std::future::pending;
//! use trunkline_storage::{Schema, Store, StoreConfig};
//!
//! const SCHEMA: Schema = Schema {
//!     name: "notes",
//!     file: "notes.sqlite",
//!     application_id: 0x6e6f_7465,
//!     migrations: &["CREATE TABLE note (text TEXT NOT NULL) STRICT"],
//!     postgres: &["CREATE TABLE note (text text NOT NULL)"],
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path(), SCHEMA, StoreConfig::default(), |_, _| Ok(()))?;
//! let insert = store.write(pending(), 0, |connection| {
//!     connection.execute("INSERT INTO note VALUES (?1)", &["tea".into()])
//! });
//! assert_eq!(insert.await?, 1);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod claim;
mod config;
mod connection;
mod database;
mod deferred;
mod error;
mod location;
#[cfg(feature = "postgres")]
mod postgres;
mod queue;
mod reader;
mod reserve;
mod row;
mod sqlite;
mod store;
mod task;
mod value;
mod workers;
mod writer;

pub use config::{Schema, StoreConfig};
pub use connection::Connection;
pub use error::{Cause, OpenError, StoreError, WorkError};
pub use location::Location;
#[cfg(feature = "postgres")]
pub use location::PostgresLocation;
pub use row::Row;
pub use store::Store;
#[cfg(feature = "postgres")]
pub use trunkline_postgres::{ConnectError, PostgresUrl};
pub use value::{Column, Value};
