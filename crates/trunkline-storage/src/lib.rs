//! Durable storage in a private database file, for the crates of trunkline that keep records.
//!
//! A [`Store`] runs closures on connections, and knows nothing of what they read and write:
//!
//! * One thread writes. It runs the work that waits as one transaction, each closure in a savepoint, and answers all
//!   of it after the commit (*group commit*), since making a commit durable takes a thousand times as long as most work.
//! * Several threads read, each in its transaction, while the writer is busy.
//! * Work that has not begun by its deadline, or whose caller has gone, never begins. Reads are interrupted.
//! * Queues are bounded. Work beyond their bounds fails at once with [`StoreError::Busy`].
//! * When other users of the process exhaust the heap limit of SQLite, a reserve of memory lets work finish.
//!
//! The file and its directory are readable by their owner only. A [`Schema`] names the file and has the migrations from
//! each version to the next.
//!
//! ```
//! use std::future::pending;
//! use trunkline_storage::{Schema, Store, StoreConfig, StoreError};
//!
//! const SCHEMA: Schema = Schema {
//!     file: "notes.sqlite",
//!     application_id: 0x6e6f_7465,
//!     migrations: &["CREATE TABLE note (text TEXT NOT NULL) STRICT"],
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path(), SCHEMA, StoreConfig::default(), |_, _| Ok(()))?;
//! let insert = store.write(pending(), 0, |connection| {
//!     Ok::<_, StoreError>(connection.execute("INSERT INTO note VALUES ('tea')", ())?)
//! });
//! assert_eq!(insert.await?, 1);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod config;
mod database;
mod deferred;
mod error;
mod queue;
mod reader;
mod reserve;
mod store;
mod task;
mod workers;
mod writer;

pub use config::{Schema, StoreConfig};
pub use error::{Cause, OpenError, StoreError, WorkError};
pub use store::Store;
