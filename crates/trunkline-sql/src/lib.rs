//! SQLite databases as a small set of safe, typed operations.
//!
//! A [`Database`] serves one SQLite file: **read-only**, unless [`Settings::writable`] adds one writer.
//! Every call runs on a thread made for it, under a deadline, and its result is bounded in rows and bytes;
//! a change is one transaction. What a caller may do is restricted by layers that do not rely on each
//! other; the private module `security` lists them.
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
//! let outcome = database.execute_raw_query(query, &CancellationToken::new()).await?;
//! let rowset = outcome.into_rows().expect("a SELECT gives rows");
//! assert_eq!(rowset.rows.get(), "[[1,2]]");
//! # Ok::<(), trunkline_sql::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The futures need a tokio runtime with its timer enabled. Dropping one interrupts its query.

#![forbid(unsafe_code)]

mod affected;
mod create_table;
mod cursor;
mod database;
mod delete_record;
mod describe_table;
mod error;
mod file;
mod filter;
mod format;
mod identifier;
mod insert_record;
mod list_tables;
mod name;
mod operations;
mod query_records;
mod raw_query;
mod records;
mod rowset;
pub mod sample;
mod schema;
mod security;
mod session;
mod settings;
mod shapes;
mod update_record;
mod value;
mod whole_number;
mod workers;

// It concerns JSON alone, so the domain may use it.
use trunkline::limits::DistinctKeys;

pub use affected::Affected;
pub use create_table::{ColumnOptions, ColumnSpec, Columns, CreateTable, Created, PrimaryKey};
pub use database::Database;
pub use delete_record::DeleteRecord;
pub use describe_table::{
    ColumnDescription, DescribeTable, ForeignKey, Generated, Index, TableDescription, Trigger,
};
pub use error::{Details, Error, ErrorClass, OpenError};
pub use file::create_empty;
pub use format::Format;
pub use insert_record::{InsertRecord, Inserted, OnConflict, Records, Returning};
pub use list_tables::{ListTables, TableList, TableSummary};
pub use operations::operations;
pub use query_records::{OrderBy, OrderTerm, QueryRecords};
pub use raw_query::{Changed, Params, RawOutcome, RawQuery};
pub use rowset::{ResultColumn, RowNumber, Rowset, TruncatedBy};
pub use schema::TableKind;
pub use settings::Settings;
pub use update_record::UpdateRecord;
