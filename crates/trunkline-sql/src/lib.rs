//! SQL databases as a small set of safe, typed operations.
//!
//! A [`Database`] serves one database of any engine: **read-only**, unless its configuration sets `writable`. Every
//! call has a deadline, and its result is limited in rows and bytes; a change is one transaction. Independent layers
//! restrict callers. The engine is a [`Backend`], such as [`sqlite::Sqlite`].
//!
//! ```
//! use trunkline_sql::sqlite::{Sqlite, SqliteConfig, create_empty};
//! use trunkline_sql::{Database, RawQuery};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("empty.db");
//! create_empty(&path)?;
//! let database = Database::from(Sqlite::open(&path, SqliteConfig::default())?);
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! let query = RawQuery::new("SELECT 1 AS a, 2 AS a");
//! let outcome = database.execute_raw_query(query).await?;
//! let rowset = outcome.into_rows().expect("a SELECT gives rows");
//! assert_eq!(rowset.rows.get(), "[[1,2]]");
//! # Ok::<(), trunkline_sql::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The futures need a tokio runtime with its timer enabled. Dropping one interrupts its query.

#![forbid(unsafe_code)]

mod backend;
mod database;
mod databases;
mod model;
mod operations;
#[cfg(feature = "postgres")]
pub mod postgres;
mod query;
#[cfg(test)]
mod random;
mod routes;
#[cfg(feature = "sample")]
pub mod sample;
pub mod spans;
pub mod sqlite;

pub use backend::{Backend, Call, Engine};
pub use database::Database;
pub use databases::{DatabaseName, DatabaseNameError, Databases, DatabasesError, Toolset};
pub use model::caller::Caller;
pub use model::change::{DeleteRecord, InsertRecord, UpdateRecord};
pub use model::create_table::CreateTable;
pub use model::describe::{DescribeTable, ListTables};
pub use model::error::{BoxError, Details, Error, ErrorClass, ServerReport};
pub use model::health::CheckHealth;
pub use model::limits::QueryLimits;
pub use model::plan::ExplainQuery;
pub use model::profile::ProfileTable;
pub use model::read::{Format, OrderBy, OrderTerm, Params, QueryRecords, RawOutcome, RawQuery};
pub use model::rowset::{ResultColumn, RowNumber, Rowset, TruncatedBy};
pub use model::search::SearchSchema;
pub use model::visibility::VisibilityRules;
#[cfg(feature = "mcp")]
pub use operations::notify_subscribers;
pub use operations::{operations, saved_queries, separate_operations};
pub use routes::routes;

/// The parts of [`VisibilityRules`].
pub mod visibility {
    pub use crate::model::unmatched_rule::UnmatchedRule;
    pub use crate::model::visibility::{ColumnMask, Mask, MaskKey, TablePattern, VisibilityError};
}

/// Changes of records: their arguments and results, and listeners to committed changes.
pub mod change {
    pub use crate::model::change::{Affected, Inserted, OnConflict, Records, Returning};
    pub use crate::model::committed_change::{ChangeListener, CommittedChange};
    pub use crate::model::read::Changed;
}

/// Queries that an operator offers as operations of their own.
pub mod saved_query {
    pub use crate::operations::{ParamKind, SavedParam, SavedQuery, SavedQueryError};
}

/// Descriptions of tables and their columns, and of new ones.
pub mod schema {
    pub use crate::model::create_table::{ColumnOptions, ColumnSpec, Columns, Created, PrimaryKey};
    pub use crate::model::describe::{
        ColumnDescription, ForeignKey, Generated, Index, TableDescription, TableList, TableSummary,
        Trigger,
    };
    pub use crate::model::schema::TableKind;
}

/// Exports and imports of many rows.
pub mod transfer {
    pub use crate::model::exact_json::read_json;
    pub use crate::model::export::{
        ExportFormat, ExportRows, ExportSender, ExportSource, ExportText, Exported,
        NoSpreadsheetFormat, UnknownFormat,
    };
    pub use crate::model::file_value::csv_field;
    pub use crate::model::import::{
        CHECKPOINT_TABLE, Checkpoint, CheckpointRequest, ImportBatch, ImportRecord, Imported,
        RejectedRecord,
    };
    pub use crate::model::inferred_type::InferredType;
}

/// Results that describe a database: matches of a search, plans, profiles of tables, and its state.
pub mod inspection {
    pub use crate::backend::Usage;
    pub use crate::model::health::{DatabaseHealth, HealthProblem, PostgresHealth, SqliteHealth};
    pub use crate::model::plan::{PlanStep, QueryPlan};
    pub use crate::model::profile::{ColumnProfile, ExampleValue, TableProfile};
    pub use crate::model::search::{SchemaMatch, SchemaMatches};
}

/// The README, and the pages of the documentation that have code of this crate.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;

    #[cfg(feature = "postgres")]
    #[doc = include_str!("../../../docs/guides/postgresql.md")]
    struct Postgres;
}
