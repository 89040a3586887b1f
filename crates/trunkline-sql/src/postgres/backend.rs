use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use trunkline_postgres::{Address, ConnectError, Outage, PostgresUrl};

use super::config::PostgresConfig;
use super::execute::{
    change, database_health, describe_table, explain_query, export_rows, import, insert,
    list_tables, profile_table, query_records, raw_query, search_schema,
};
use super::pool::Pool;
use super::role;
use super::security::{self, Access};
use super::session::Reply;
use super::suggestions;
use super::transaction::Transaction;
use super::visibility;
use crate::backend::{Backend, Call, Engine, Usage};
use crate::model::caller::Caller;
use crate::model::change::{Affected, DeleteRecord, InsertRecord, Inserted, UpdateRecord};
use crate::model::create_table::{CreateTable, Created};
use crate::model::describe::{DescribeTable, ListTables, TableDescription, TableList};
use crate::model::error::Error;
use crate::model::export::{ExportRows, ExportSender, ExportSource, Exported};
use crate::model::health::{CheckHealth, DatabaseHealth};
use crate::model::import::{Checkpoint, CheckpointRequest, ImportBatch, Imported};
use crate::model::plan::{ExplainQuery, QueryPlan};
use crate::model::profile::{ProfileTable, TableProfile};
use crate::model::read::{QueryRecords, RawOutcome, RawQuery};
use crate::model::rowset::Rowset;
use crate::model::search::{SchemaMatches, SearchSchema};
use crate::model::unmatched_rule::UnmatchedRule;
use crate::query::raw;

/// A served PostgreSQL database.
pub struct Postgres {
    pool: Arc<Pool>,
    /// The connections of exports.
    exports: Arc<Pool>,
    role: CallerRole,
    warnings: Vec<String>,
}

/// The role of transactions.
#[derive(Clone)]
enum CallerRole {
    /// That of the connection.
    Connection,
    Named(Arc<str>),
    /// The rule for roles requires a caller.
    Unknown,
}

impl Postgres {
    /// Connects to a database. Missing parts of the URL come from the environment (`PGHOST`, `PGPORT`, `PGUSER`,
    /// `PGPASSWORD`, `PGDATABASE`, `PGSSLMODE`, `PGSSLROOTCERT`), and the password from `~/.pgpass`. Opens one
    /// connection and checks the privileges of its role.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub async fn connect(url: &PostgresUrl, config: PostgresConfig) -> Result<Self, ConnectError> {
        if config.connections == 0 {
            let reason = "the minimum is 1".to_owned();
            return Err(ConnectError::Setting { setting: "connections", reason });
        }
        let variable = |name: &str| std::env::var(name).ok();
        let address = Address::new(url, config.ca_file.as_deref(), variable)?;
        let address = Arc::new(address.with_pooling(config.pooling));
        let of_exports = PostgresConfig { connections: config.limits.exports, ..config.clone() };
        let outage = Arc::new(Outage::new("database"));
        let exports = Arc::new(Pool::new(Arc::clone(&address), of_exports, Arc::clone(&outage)));
        let pool = Arc::new(Pool::new(address, config, outage));
        let session = pool.open().await?;
        let warnings = role::check(&session.connection, &pool.address, &pool.config).await?;
        pool.give_back(session);
        let role = match &pool.config {
            PostgresConfig { role_rule: Some(_), .. } => CallerRole::Unknown,
            PostgresConfig { role: Some(role), .. } => CallerRole::Named(role.as_str().into()),
            _ => CallerRole::Connection,
        };
        Ok(Self { pool, exports, role, warnings })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &PostgresConfig {
        &self.pool.config
    }

    /// Warnings for the operator about the privileges of the role, each with SQL that avoids it.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The remedy for a statement that writes in a read-only call.
    fn write_remedy(&self) -> &'static str {
        if self.config().writable {
            "a statement that changes the database requires \"read_only\": false"
        } else {
            "the database is served read-only; start the server with --writable to allow changes"
        }
    }

    async fn begin(&self, access: Access, timeout: Duration) -> Result<Transaction, Error> {
        if access == Access::Write && !self.config().writable {
            return Err(Error::ReadOnly);
        }
        self.begin_in(&self.pool, access, timeout).await
    }

    /// Begins a transaction, in which the rules match the schema.
    async fn begin_in(
        &self,
        pool: &Arc<Pool>,
        access: Access,
        timeout: Duration,
    ) -> Result<Transaction, Error> {
        let transaction = Transaction::begin(pool, access, self.role()?, timeout).await?;
        let deadline = transaction.deadline();
        match deadline.limit(visibility::check_names(&transaction, &pool.named)).await {
            Ok(()) => Ok(transaction),
            Err(error) => transaction.end(Err(error)).await,
        }
    }

    /// The role that transactions set, if it is not that of the connection.
    fn role(&self) -> Result<Option<&str>, Error> {
        match &self.role {
            CallerRole::Connection => Ok(None),
            CallerRole::Named(role) => Ok(Some(role)),
            CallerRole::Unknown => {
                Err(Error::UnknownRole { reason: "the call has no caller".to_owned() })
            }
        }
    }

    async fn run(&self, request: &RawQuery) -> Result<RawOutcome, Error> {
        let limits = &self.config().limits;
        let timeout = raw::timeout(request, limits)?;
        let access = if request.read_only { Access::Read } else { Access::Write };
        if access == Access::Write && !self.config().writable {
            return Err(Error::ReadOnly);
        }
        if access == Access::Write {
            self.config().rules.refuse_sql_changes()?;
        }
        security::check(&request.query, access, self.write_remedy())?;
        let mut transaction = match self.config().rules.is_empty() {
            true => Transaction::start(&self.pool, access, self.role()?, timeout).await?,
            false => self.begin(access, timeout).await?,
        };
        let deadline = transaction.deadline();
        let outcome = match access {
            Access::Read => deadline.limit(raw_query::read(&mut transaction, request)).await,
            Access::Write => deadline.limit(raw_query::write(&mut transaction, request)).await,
        };
        let outcome = outcome.map_err(|error| match error {
            Error::Forbidden { reason }
                if request.read_only && raw::looks_like_change(&request.query) =>
            {
                Error::Forbidden { reason: format!("{reason}; {}", self.write_remedy()) }
            }
            error => error,
        });
        match transaction.end(outcome).await {
            Err(error) if suggestions::is_applicable(&error) => {
                Err(Box::pin(self.with_suggestions(error, &request.query)).await)
            }
            outcome => outcome,
        }
    }

    /// Adds similar names to an error of an unknown table or column.
    async fn with_suggestions(&self, mut error: Error, sql: &str) -> Error {
        /// Maximum time of the search.
        const TIMEOUT: Duration = Duration::from_millis(500);
        if let Ok(transaction) = self.begin(Access::Read, TIMEOUT).await {
            let add = async {
                suggestions::add(&transaction, &mut error, sql).await;
                Ok(())
            };
            let added = transaction.deadline().limit(add).await;
            // The error of the call is that of its statement.
            let _ = transaction.end(added).await;
        }
        error
    }
}

/// Runs a call again, in another transaction and with its whole timeout, if its connection kept a statement that does
/// not fit the schema any more. The connection has forgotten the statement, and the call has changed nothing.
macro_rules! repeat {
    ($backend:ident, $call:expr) => {{
        // For the lookups in the catalogs and the statement of the call, on each connection.
        let mut repetitions = 2 * $backend.config().connections;
        loop {
            match $call {
                Err(Error::Changing) if repetitions > 0 => repetitions -= 1,
                outcome => break outcome,
            }
        }
    }};
}

/// A call that runs a function of `execute` in a transaction.
macro_rules! calls {
    ($($name:ident($request:ty) -> $result:ty, $access:ident by $module:ident;)*) => {$(
        fn $name(&self, request: $request) -> Call<'_, $result> {
            Box::pin(async move {
                let timeout = self.config().limits.timeout;
                repeat!(self, {
                    let mut transaction = self.begin(Access::$access, timeout).await?;
                    let deadline = transaction.deadline();
                    let outcome = deadline.limit($module::$name(&mut transaction, &request)).await;
                    transaction.end(outcome).await
                })
            })
        }
    )*};
}

impl Backend for Postgres {
    fn engine(&self) -> Engine {
        Engine::Postgres
    }

    fn is_writable(&self) -> bool {
        self.config().writable
    }

    fn parallelism(&self) -> usize {
        self.config().connections
    }

    fn usage(&self) -> Usage {
        self.pool.usage()
    }

    fn problem(&self) -> Option<String> {
        self.pool.problem()
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn for_caller(&self, caller: &Caller) -> Result<Option<Arc<dyn Backend>>, Error> {
        let Some(rule) = &self.config().role_rule else { return Ok(None) };
        let role = CallerRole::Named(rule.role_of(caller)?.into());
        let (pool, exports) = (Arc::clone(&self.pool), Arc::clone(&self.exports));
        Ok(Some(Arc::new(Self { pool, exports, role, warnings: Vec::new() })))
    }

    fn ping(&self, limit: Duration) -> Call<'_, ()> {
        Box::pin(async move {
            let answer = async {
                // The rest of the time is for the connection and the statement.
                let (permit, session) = self.pool.lease(limit / 2).await?;
                Reply::to(&session.connection, "SELECT 1").await?.number().await?;
                self.pool.give_back(session);
                drop(permit);
                Ok(())
            };
            timeout(limit, answer).await.unwrap_or(Err(Error::Timeout { limit }))
        })
    }

    fn close(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let is_closed = self.exports.close(patience);
        self.pool.close(until.saturating_duration_since(Instant::now())) && is_closed
    }

    calls! {
        list_tables(ListTables) -> TableList, Read by list_tables;
        describe_table(DescribeTable) -> TableDescription, Read by describe_table;
        query_records(QueryRecords) -> Rowset, Read by query_records;
        insert_record(InsertRecord) -> Inserted, Write by insert;
        update_record(UpdateRecord) -> Affected, Write by change;
        delete_record(DeleteRecord) -> Affected, Write by change;
        create_table(CreateTable) -> Created, Write by change;
        import_batch(ImportBatch) -> Imported, Write by import;
        checkpoint(CheckpointRequest) -> Option<Checkpoint>, Write by import;
        search_schema(SearchSchema) -> SchemaMatches, Read by search_schema;
        profile_table(ProfileTable) -> TableProfile, Read by profile_table;
        database_health(CheckHealth) -> DatabaseHealth, Read by database_health;
    }

    fn unmatched_rules(&self) -> Call<'_, Vec<UnmatchedRule>> {
        Box::pin(async move {
            let (config, access) = (self.config(), Access::Read);
            if config.rules.is_empty() {
                return Ok(Vec::new());
            }
            // The tables of all roles.
            let transaction =
                Transaction::begin(&self.pool, access, None, config.limits.timeout).await?;
            let deadline = transaction.deadline();
            let tables = deadline.limit(visibility::names_and_columns(&transaction)).await;
            let tables = transaction.end(tables).await?;
            Ok(config.rules.unmatched(&tables))
        })
    }

    fn execute_raw_query(&self, request: RawQuery) -> Call<'_, RawOutcome> {
        Box::pin(async move { repeat!(self, self.run(&request).await) })
    }

    fn export_rows(&self, request: ExportRows, parts: ExportSender) -> Call<'_, Exported> {
        Box::pin(async move {
            if let ExportSource::Query { sql, .. } = &request.source {
                security::check(sql, Access::Read, self.write_remedy())?;
            }
            let timeout = self.config().limits.export_timeout;
            let timeout = request.timeout.unwrap_or(timeout).min(timeout);
            repeat!(self, {
                let mut transaction = self.begin_in(&self.exports, Access::Read, timeout).await?;
                let deadline = transaction.deadline();
                let exported = export_rows::export_rows(&mut transaction, &request, &parts);
                match deadline.limit(exported).await {
                    Ok(exported) => transaction.end(Ok(exported)).await,
                    Err(error) => transaction.abandon(error),
                }
            })
        })
    }

    fn explain_query(&self, request: ExplainQuery) -> Call<'_, QueryPlan> {
        Box::pin(async move {
            security::check(&request.query, Access::Read, self.write_remedy())?;
            repeat!(self, {
                let mut transaction =
                    self.begin(Access::Read, self.config().limits.timeout).await?;
                let deadline = transaction.deadline();
                let explained = explain_query::explain_query(&mut transaction, &request);
                let outcome = deadline.limit(explained).await;
                transaction.end(outcome).await
            })
        })
    }
}

impl fmt::Debug for Postgres {
    /// Without the address, which contains a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Postgres").field("config", self.config()).finish_non_exhaustive()
    }
}
