//! SQLite databases as a small set of safe, typed operations.
//!
//! A [`Database`] serves one SQLite file **read-only**. Every call runs on a thread made for it, under a
//! deadline, and its result is bounded in rows and bytes. What a caller may do is restricted by layers
//! that do not rely on each other; the private module `security` lists them.
//!
//! ```
//! use tokio_util::sync::CancellationToken;
//! use trunkline_sql::{Database, RawQuery, Settings, create_empty};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("empty.db");
//! create_empty(&path)?;
//! let database = Database::open(&path, Settings::default())?;
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! let query = RawQuery::new("SELECT 1 AS a, 2 AS a");
//! let rowset = database.execute_raw_query(query, &CancellationToken::new()).await?;
//! assert_eq!(rowset.rows.get(), "[[1,2]]");
//! # Ok::<(), trunkline_sql::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The futures need a tokio runtime with its timer enabled. Dropping one interrupts its query.

#![forbid(unsafe_code)]

mod cursor;
mod database;
mod describe_table;
mod error;
mod file;
mod identifier;
mod list_tables;
mod operations;
mod query_records;
mod raw_query;
mod readers;
mod rowset;
pub mod sample;
mod schema;
mod security;
mod session;
mod settings;
mod value;
mod whole_number;

pub use database::Database;
pub use describe_table::{
    ColumnDescription, DescribeTable, ForeignKey, Generated, Index, TableDescription, Trigger,
};
pub use error::{Details, Error, ErrorClass, OpenError};
pub use file::create_empty;
pub use list_tables::{ListTables, TableList, TableSummary};
pub use operations::operations;
pub use query_records::{OrderBy, OrderTerm, QueryRecords};
pub use raw_query::{Params, RawQuery};
pub use rowset::{ResultColumn, Rowset, TruncatedBy};
pub use schema::TableKind;
pub use settings::Settings;
