use std::sync::Arc;
use std::time::Duration;

use trunkline::protocol::spans::Work;

use crate::backend::{Backend, Engine, Usage};
use crate::model::caller::Caller;
use crate::model::change::{Affected, DeleteRecord, InsertRecord, Inserted, UpdateRecord};
use crate::model::committed_change::CommittedChange;
use crate::model::create_table::{CreateTable, Created};
use crate::model::describe::{DescribeTable, ListTables, TableDescription, TableList};
use crate::model::error::Error;
use crate::model::export::{ExportRows, ExportSender, Exported};
use crate::model::health::{CheckHealth, DatabaseHealth};
use crate::model::import::{Checkpoint, CheckpointRequest, ImportBatch, Imported};
use crate::model::inferred_type::InferredType;
use crate::model::plan::{ExplainQuery, QueryPlan};
use crate::model::profile::{ProfileTable, TableProfile};
use crate::model::read::{QueryRecords, RawOutcome, RawQuery};
use crate::model::rowset::Rowset;
use crate::model::schema::Dialect;
use crate::model::search::{SchemaMatches, SearchSchema};
use crate::model::unmatched_rule::UnmatchedRule;
use crate::spans;

/// A database of any engine. Clones share its connections, which end with the last clone.
///
/// # Cancel safety
///
/// Dropping the future of a call interrupts the call. A change is then rolled back, unless its commit has begun.
#[derive(Clone, Debug)]
pub struct Database {
    backend: Arc<dyn Backend>,
}

/// Methods that call the method of the same name of the back end, in a span with the operation and the table.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($request:ty) $operation:literal $($table:ident)? -> $result:ty;)*) => {$(
        $(#[$doc])*
        pub async fn $name(&self, request: $request) -> Result<$result, Error> {
            let span = self.span($operation, calls!(@table request $($table)?));
            ended(span, self.backend.$name(request).await)
        }
    )*};
    (@table $request:ident) => { None };
    (@table $request:ident $table:ident) => { Some(&*$request.$table) };
}

impl Database {
    /// The engine.
    pub fn engine(&self) -> Engine {
        self.backend.engine()
    }

    /// The type of a column of a new table for the values of a file.
    pub fn type_name(&self, inferred: InferredType) -> &'static str {
        inferred.name(match self.engine() {
            Engine::Sqlite => Dialect::Sqlite,
            Engine::Postgres => Dialect::Postgres,
        })
    }

    /// Whether callers may change the database.
    pub fn is_writable(&self) -> bool {
        self.backend.is_writable()
    }

    /// Number of calls that can run at the same time.
    pub fn parallelism(&self) -> usize {
        self.backend.parallelism()
    }

    /// The use of the connections for reading.
    pub fn usage(&self) -> Usage {
        self.backend.usage()
    }

    /// The reason why the last calls could not read or change the database. It is safe to send to a client. Checks
    /// the state of the database at most once per second.
    pub fn problem(&self) -> Option<String> {
        self.backend.problem()
    }

    /// Warnings for the operator about the privileges of the role in PostgreSQL, each with SQL that avoids it.
    pub fn warnings(&self) -> &[String] {
        self.backend.warnings()
    }

    /// Calls `listener` after each committed change by a call, before the call returns; and after changes by other
    /// processes, which the next [check](Self::check_for_changes) or the next write detects. The listener must not
    /// block, nor add listeners. It may be called although nothing has changed.
    pub fn on_change(&self, listener: impl Fn(&CommittedChange) + Send + Sync + 'static) {
        self.backend.on_change(Box::new(listener));
    }

    /// Notifies the [listeners](Self::on_change) if another process has changed the database since the last check.
    /// SQLite compares the metadata of the file and its log. Blocks for a few calls of the operating system.
    pub fn check_for_changes(&self) {
        self.backend.check_for_changes();
    }

    /// This database with the rights of a caller: in PostgreSQL, those of its role, if the configuration has a rule for
    /// roles.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownRole`] if the rule gives the caller no role.
    pub fn for_caller(&self, caller: &Caller) -> Result<Self, Error> {
        let backend = self.backend.for_caller(caller)?;
        Ok(Self { backend: backend.unwrap_or_else(|| Arc::clone(&self.backend)) })
    }

    /// Checks that the database answers a statement within `timeout`, without the rights of a caller. Not a part of
    /// telemetry.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`]; [`Error::Busy`] if no connection becomes free; and errors of the connection.
    pub async fn ping(&self, timeout: Duration) -> Result<(), Error> {
        self.backend.ping(timeout).await
    }

    /// The [rules](crate::VisibilityRules) that match no table or column.
    ///
    /// # Errors
    ///
    /// The errors of every operation ([`execute_raw_query`](Self::execute_raw_query)).
    pub async fn unmatched_rules(&self) -> Result<Vec<UnmatchedRule>, Error> {
        self.backend.unmatched_rules().await
    }

    /// Ends the connections of all clones and waits until the database is closed. Returns false if that takes longer
    /// than `patience`. Running calls end normally, later ones fail with [`Error::Closed`]. Blocks.
    pub fn close(&self, patience: Duration) -> bool {
        self.backend.close(patience)
    }

    /// Sends all rows of a table or of a reading statement as text, in parts. Memory is independent of the number of
    /// rows.
    ///
    /// # Errors
    ///
    /// Those of a reading [`execute_raw_query`](Self::execute_raw_query), also after parts have been sent.
    /// [`Error::OverLimit`] beyond [`QueryLimits::max_export_rows`](crate::QueryLimits), and [`Error::Busy`] beyond
    /// [`QueryLimits::exports`](crate::QueryLimits).
    pub async fn export_rows(
        &self,
        request: ExportRows,
        parts: ExportSender,
    ) -> Result<Exported, Error> {
        let span = self.span("export_rows", None);
        ended(span, self.backend.export_rows(request, parts).await)
    }

    fn span(&self, operation: &str, table: Option<&str>) -> Work {
        let system = match self.engine() {
            Engine::Sqlite => "sqlite",
            Engine::Postgres => "postgresql",
        };
        spans::database(system, operation, table)
    }

    calls! {
        /// Lists tables and views.
        ///
        /// # Errors
        ///
        /// [`Error::BadCursor`], and the errors of every operation ([`execute_raw_query`](Self::execute_raw_query)).
        list_tables(ListTables) "list_tables" -> TableList;

        /// Describes one table or view.
        ///
        /// # Errors
        ///
        /// [`Error::UnknownTable`], [`Error::BadArgument`], and the errors
        /// of every operation ([`execute_raw_query`](Self::execute_raw_query)).
        describe_table(DescribeTable) "describe_table" table_name -> TableDescription;

        /// Reads rows of one table or view.
        ///
        /// # Errors
        ///
        /// [`Error::UnknownTable`], [`Error::UnknownColumn`], [`Error::BadArgument`], [`Error::BadFilter`],
        /// [`Error::BadCursor`], [`Error::OverLimit`] for a page whose first row does not fit, and the errors
        /// of every operation ([`execute_raw_query`](Self::execute_raw_query)).
        query_records(QueryRecords) "SELECT" table_name -> Rowset;

        /// Runs one SQL statement: a reading one, or with `read_only: false` any permitted one.
        ///
        /// # Errors
        ///
        /// [`Error::ReadOnly`]; errors of the statement ([`Error::Sql`], [`Error::Forbidden`],
        /// [`Error::NoStatement`], [`Error::MultipleStatements`], [`Error::NulInSql`], [`Error::OverLimit`],
        /// [`Error::Constraint`]), of its parameters ([`Error::BadParams`]) or of the request
        /// ([`Error::BadArgument`]). For every operation: [`Error::Timeout`],
        /// [`Error::OutOfMemory`]; [`Error::Busy`], [`Error::Locked`], [`Error::Changing`] and
        /// [`Error::Closed`], which can be retried; and [`Error::Unavailable`], [`Error::Failure`],
        /// [`Error::ReaderLost`] and [`Error::Unconfirmed`], which are not the caller's fault.
        execute_raw_query(RawQuery) "execute_raw_query" -> RawOutcome;

        /// Inserts records into a table, all or none.
        ///
        /// # Errors
        ///
        /// [`Error::ReadOnly`], [`Error::UnknownTable`], [`Error::UnknownColumn`], [`Error::BadArgument`],
        /// [`Error::BadColumn`], [`Error::Constraint`], [`Error::Sql`] for a view or a generated
        /// column, and the errors of every operation ([`execute_raw_query`](Self::execute_raw_query)).
        insert_record(InsertRecord) "INSERT" table_name -> Inserted;

        /// Changes the rows of a table that match filters.
        ///
        /// # Errors
        ///
        /// Those of [`insert_record`](Self::insert_record), [`Error::BadFilter`], and
        /// [`Error::TooManyRows`].
        update_record(UpdateRecord) "UPDATE" table_name -> Affected;

        /// Deletes the rows of a table that match filters.
        ///
        /// # Errors
        ///
        /// As of [`update_record`](Self::update_record).
        delete_record(DeleteRecord) "DELETE" table_name -> Affected;

        /// Creates a table.
        ///
        /// # Errors
        ///
        /// [`Error::ReadOnly`], [`Error::TableExists`], [`Error::BadArgument`], [`Error::BadColumn`],
        /// [`Error::OverLimit`] for too many columns, and the errors
        /// of every operation ([`execute_raw_query`](Self::execute_raw_query)).
        create_table(CreateTable) "CREATE TABLE" table_name -> Created;

        /// Inserts records in one transaction, and rejects those that violate a constraint or have values of other
        /// types than their columns. The limits of records and changed rows do not apply.
        ///
        /// # Errors
        ///
        /// [`Error::ReadOnly`], [`Error::UnknownTable`], [`Error::BadArgument`] for a missing checkpoint,
        /// [`Error::Constraint`] for a constraint that is checked at the end of the transaction, and the errors
        /// of every operation ([`execute_raw_query`](Self::execute_raw_query)). Then no record was imported.
        import_batch(ImportBatch) "INSERT" table_name -> Imported;

        /// Creates, reads or removes the checkpoint of an import. Only reading has a result.
        ///
        /// # Errors
        ///
        /// [`Error::ReadOnly`], and the errors of every operation ([`execute_raw_query`](Self::execute_raw_query)).
        checkpoint(CheckpointRequest) "checkpoint" -> Option<Checkpoint>;

        /// Finds tables and columns by keywords of their names, types and comments.
        ///
        /// # Errors
        ///
        /// [`Error::BadArgument`], and the errors of every operation ([`execute_raw_query`](Self::execute_raw_query)).
        search_schema(SearchSchema) "search_schema" -> SchemaMatches;

        /// Returns the plan of a reading statement, which is not run.
        ///
        /// # Errors
        ///
        /// As of a reading [`execute_raw_query`](Self::execute_raw_query).
        explain_query(ExplainQuery) "EXPLAIN" -> QueryPlan;

        /// Summarizes the values of each column of a table or view. Columns for which 70 % of the timeout are not
        /// sufficient are omitted.
        ///
        /// # Errors
        ///
        /// [`Error::UnknownTable`], [`Error::UnknownColumn`], [`Error::BadArgument`], and the errors
        /// of every operation ([`execute_raw_query`](Self::execute_raw_query)).
        profile_table(ProfileTable) "profile_table" table_name -> TableProfile;

        /// Returns the state of the database. The check of a SQLite file takes at most 70 % of the timeout.
        ///
        /// # Errors
        ///
        /// The errors of every operation ([`execute_raw_query`](Self::execute_raw_query)).
        database_health(CheckHealth) "database_health" -> DatabaseHealth;
    }
}

/// Ends the span of an operation.
fn ended<T>(span: Work, result: Result<T, Error>) -> Result<T, Error> {
    if span.is_enabled()
        && let Err(error) = &result
    {
        span.fail(error.details().kind);
    }
    result
}

impl<B: Backend> From<B> for Database {
    fn from(backend: B) -> Self {
        Self { backend: Arc::new(backend) }
    }
}
