use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::config::SqliteConfig;
use super::execute::export_rows::ExportJob;
use super::execute::{
    change, database_health, describe_table, explain_query, import, insert, list_tables,
    profile_table, query_records, raw_query, search_schema,
};
use super::file::DatabaseFile;
use super::open_error::OpenError;
use super::schema;
use super::session::Session;
use super::workers::{Pool, WaitGroup};
use crate::backend::{Backend, Call, Engine, Usage};
use crate::model::change::{Affected, DeleteRecord, InsertRecord, Inserted, UpdateRecord};
use crate::model::committed_change::ChangeListener;
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

/// A served SQLite database.
pub struct Sqlite {
    // Dropped in this order: the readers end before the writer.
    readers: Pool,
    exports: Pool,
    writer: Option<Pool>,
}

impl Sqlite {
    /// Opens a database file and starts its readers, and its writer if [`SqliteConfig::writable`] is set. Reads the
    /// file once to check that it can be served. Blocks for at most [`SqliteConfig::lock_wait`].
    ///
    /// # Errors
    ///
    /// See [`OpenError`].
    pub fn open(path: impl AsRef<Path>, config: SqliteConfig) -> Result<Self, OpenError> {
        if config.readers == 0 {
            return Err(OpenError::Setting { setting: "readers" });
        }
        let file = Arc::new(DatabaseFile::find(path.as_ref())?);
        let config = Arc::new(config);
        let writing = if config.writable { Some(file.connect_for_writing(&config)?) } else { None };
        file.connect(&config)?;
        // The writer closes its connection after those of all readers.
        let threads = Arc::new(WaitGroup::default());
        let pool = |count| {
            Pool::readers(Arc::clone(&file), Arc::clone(&config), count, Arc::clone(&threads))
        };
        let (exports, readers) = (pool(config.limits.exports)?, pool(config.readers)?);
        let writer = match writing {
            Some(connection) => Some(Pool::writer(connection, &readers)?),
            None => None,
        };
        Ok(Self { readers, exports, writer })
    }

    /// The configuration.
    pub fn config(&self) -> &SqliteConfig {
        self.readers.config()
    }

    /// The remedy for a statement that writes in a read-only call.
    fn write_remedy(&self) -> &'static str {
        match self.writer {
            Some(_) => "a statement that changes the database requires \"read_only\": false",
            None => {
                "the database is served read-only; start the server with --writable to allow changes"
            }
        }
    }

    async fn run(&self, request: RawQuery) -> Result<RawOutcome, Error> {
        let limits = &self.config().limits;
        raw::check_names(&request.query)?;
        if !request.read_only {
            self.writer()?;
            self.config().rules.refuse_sql_changes()?;
            let (writer, timeout) = (self.writer()?, raw::timeout(&request, limits)?);
            let work = move |session: &mut Session<'_>| raw_query::write(session, &request);
            return writer.call(timeout, work).await;
        }
        let timeout = raw::timeout(&request, limits)?;
        let remedy = raw::looks_like_change(&request.query).then(|| self.write_remedy());
        let work = move |session: &mut Session<'_>| raw_query::read(session, &request);
        let outcome = self.readers.call(timeout, work).await;
        outcome.map_err(|error| match (error, remedy) {
            (Error::Forbidden { reason }, Some(remedy)) => {
                Error::Forbidden { reason: format!("{reason}; {remedy}") }
            }
            (error, _) => error,
        })
    }

    async fn read<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Session<'_>) -> Result<T, Error> + Send + 'static,
    {
        self.readers.call(self.config().limits.timeout, work).await
    }

    async fn write<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Session<'_>) -> Result<T, Error> + Send + 'static,
    {
        self.writer()?.call(self.config().limits.timeout, work).await
    }

    fn writer(&self) -> Result<&Pool, Error> {
        self.writer.as_ref().ok_or(Error::ReadOnly)
    }
}

/// A call that runs a function of `execute` on a reader or on the writer.
macro_rules! calls {
    ($($name:ident($request:ty) -> $result:ty, $run:ident by $module:ident;)*) => {$(
        fn $name(&self, request: $request) -> Call<'_, $result> {
            Box::pin(self.$run(move |session| $module::$name(session, &request)))
        }
    )*};
}

impl Backend for Sqlite {
    fn engine(&self) -> Engine {
        Engine::Sqlite
    }

    fn is_writable(&self) -> bool {
        self.config().writable
    }

    fn parallelism(&self) -> usize {
        self.config().readers
    }

    fn usage(&self) -> Usage {
        self.readers.usage()
    }

    fn problem(&self) -> Option<String> {
        self.readers.problem().or_else(|| self.writer.as_ref()?.problem())
    }

    fn on_change(&self, listener: ChangeListener) {
        self.readers.file().listeners.add(listener);
    }

    fn check_for_changes(&self) {
        self.readers.file().check_content();
    }

    /// A writable database in WAL mode has a log file until it is closed. If the process ends earlier, the log remains,
    /// and SQLite applies it when the file is opened next. A read-only database need not be closed.
    fn close(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        self.writer.iter().for_each(Pool::close);
        self.readers.close();
        self.exports.close();
        let are_readers_done = self.readers.wait_for_end(until);
        are_readers_done && self.writer.as_ref().is_none_or(|writer| writer.wait_for_end(until))
    }

    calls! {
        list_tables(ListTables) -> TableList, read by list_tables;
        describe_table(DescribeTable) -> TableDescription, read by describe_table;
        query_records(QueryRecords) -> Rowset, read by query_records;
        insert_record(InsertRecord) -> Inserted, write by insert;
        update_record(UpdateRecord) -> Affected, write by change;
        delete_record(DeleteRecord) -> Affected, write by change;
        create_table(CreateTable) -> Created, write by change;
        import_batch(ImportBatch) -> Imported, write by import;
        checkpoint(CheckpointRequest) -> Option<Checkpoint>, write by import;
        search_schema(SearchSchema) -> SchemaMatches, read by search_schema;
        profile_table(ProfileTable) -> TableProfile, read by profile_table;
        database_health(CheckHealth) -> DatabaseHealth, read by database_health;
    }

    fn unmatched_rules(&self) -> Call<'_, Vec<UnmatchedRule>> {
        if self.config().rules.is_empty() {
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        Box::pin(self.read(|session| {
            let tables = schema::names_and_columns(session)?;
            Ok(session.config().rules.unmatched(&tables))
        }))
    }

    fn explain_query(&self, request: ExplainQuery) -> Call<'_, QueryPlan> {
        Box::pin(async move {
            raw::check_names(&request.query)?;
            self.read(move |session| explain_query::explain_query(session, &request)).await
        })
    }

    fn export_rows(&self, request: ExportRows, parts: ExportSender) -> Call<'_, Exported> {
        let limits = &self.config().limits;
        let timeout = request.timeout.unwrap_or(limits.export_timeout).min(limits.export_timeout);
        Box::pin(async move {
            if let ExportSource::Query { sql, .. } = &request.source {
                raw::check_names(sql)?;
            }
            let mut export = ExportJob::new(request, parts, timeout);
            self.exports.call(timeout, move |session| export.run(session)).await
        })
    }

    fn execute_raw_query(&self, request: RawQuery) -> Call<'_, RawOutcome> {
        Box::pin(self.run(request))
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sqlite").field("config", self.config()).finish_non_exhaustive()
    }
}
