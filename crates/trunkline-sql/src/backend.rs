//! The interface between the operations and the engines.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::model::caller::Caller;
use crate::model::change::{Affected, DeleteRecord, InsertRecord, Inserted, UpdateRecord};
use crate::model::committed_change::ChangeListener;
use crate::model::create_table::{CreateTable, Created};
use crate::model::describe::{DescribeTable, ListTables, TableDescription, TableList};
use crate::model::error::Error;
use crate::model::export::{ExportRows, ExportSender, Exported};
use crate::model::health::{CheckHealth, DatabaseHealth};
use crate::model::import::{Checkpoint, CheckpointRequest, ImportBatch, Imported};
use crate::model::plan::{ExplainQuery, QueryPlan};
use crate::model::profile::{ProfileTable, TableProfile};
use crate::model::read::{QueryRecords, RawOutcome, RawQuery};
use crate::model::rowset::Rowset;
use crate::model::search::{SchemaMatches, SearchSchema};
use crate::model::unmatched_rule::UnmatchedRule;

/// The future of a call.
pub type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// The engine of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

impl Engine {
    /// The name, as its project spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// The use of the connections of a database at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Number of calls that use a connection.
    pub running: usize,
    /// Number of calls that wait for a connection.
    pub waiting: usize,
}

/// An engine that runs the operations on one database.
///
/// # Cancel safety
///
/// Dropping the future of a call interrupts the call. A change is then rolled back, unless its commit has begun.
pub trait Backend: Debug + Send + Sync + 'static {
    /// The engine, for descriptions.
    fn engine(&self) -> Engine;

    /// Whether callers may change the database.
    fn is_writable(&self) -> bool;

    /// Number of calls that can run at the same time.
    fn parallelism(&self) -> usize;

    /// The use of the connections for reading.
    fn usage(&self) -> Usage;

    /// The reason why the last calls could not read or change the database. It is safe to send to a client.
    fn problem(&self) -> Option<String>;

    /// [`Database::warnings`](crate::Database::warnings). The default is an empty list.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// [`Database::on_change`](crate::Database::on_change). By default, listeners are never called.
    fn on_change(&self, _listener: ChangeListener) {}

    /// [`Database::check_for_changes`](crate::Database::check_for_changes). By default, does nothing.
    fn check_for_changes(&self) {}

    /// The back end for the calls of a caller. `None`, the default, if all callers have the same rights.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownRole`] if the caller has no rights.
    fn for_caller(&self, _caller: &Caller) -> Result<Option<Arc<dyn Backend>>, Error> {
        Ok(None)
    }

    /// [`Database::ping`](crate::Database::ping). By default, runs a statement without the rights of a caller.
    fn ping(&self, timeout: Duration) -> Call<'_, ()> {
        let timeout_ms = u64::try_from(timeout.as_millis()).ok();
        let request = RawQuery { timeout_ms, ..RawQuery::new("SELECT 1") };
        let answer = self.execute_raw_query(request);
        Box::pin(async move { answer.await.map(drop) })
    }

    /// [`Database::unmatched_rules`](crate::Database::unmatched_rules). The default is an empty list.
    fn unmatched_rules(&self) -> Call<'_, Vec<UnmatchedRule>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Ends the connections and returns whether that took at most `patience`. Running calls end normally, later ones
    /// fail with [`Error::Closed`]. Blocks.
    fn close(&self, patience: Duration) -> bool;

    /// [`Database::list_tables`](crate::Database::list_tables).
    fn list_tables(&self, request: ListTables) -> Call<'_, TableList>;

    /// [`Database::describe_table`](crate::Database::describe_table).
    fn describe_table(&self, request: DescribeTable) -> Call<'_, TableDescription>;

    /// [`Database::query_records`](crate::Database::query_records).
    fn query_records(&self, request: QueryRecords) -> Call<'_, Rowset>;

    /// [`Database::execute_raw_query`](crate::Database::execute_raw_query).
    fn execute_raw_query(&self, request: RawQuery) -> Call<'_, RawOutcome>;

    /// [`Database::insert_record`](crate::Database::insert_record).
    fn insert_record(&self, request: InsertRecord) -> Call<'_, Inserted>;

    /// [`Database::update_record`](crate::Database::update_record).
    fn update_record(&self, request: UpdateRecord) -> Call<'_, Affected>;

    /// [`Database::delete_record`](crate::Database::delete_record).
    fn delete_record(&self, request: DeleteRecord) -> Call<'_, Affected>;

    /// [`Database::create_table`](crate::Database::create_table).
    fn create_table(&self, request: CreateTable) -> Call<'_, Created>;

    /// [`Database::export_rows`](crate::Database::export_rows).
    fn export_rows(&self, request: ExportRows, parts: ExportSender) -> Call<'_, Exported>;

    /// [`Database::import_batch`](crate::Database::import_batch).
    fn import_batch(&self, batch: ImportBatch) -> Call<'_, Imported>;

    /// [`Database::checkpoint`](crate::Database::checkpoint).
    fn checkpoint(&self, request: CheckpointRequest) -> Call<'_, Option<Checkpoint>>;

    /// [`Database::search_schema`](crate::Database::search_schema).
    fn search_schema(&self, request: SearchSchema) -> Call<'_, SchemaMatches>;

    /// [`Database::explain_query`](crate::Database::explain_query).
    fn explain_query(&self, request: ExplainQuery) -> Call<'_, QueryPlan>;

    /// [`Database::profile_table`](crate::Database::profile_table).
    fn profile_table(&self, request: ProfileTable) -> Call<'_, TableProfile>;

    /// [`Database::database_health`](crate::Database::database_health).
    fn database_health(&self, request: CheckHealth) -> Call<'_, DatabaseHealth>;
}
