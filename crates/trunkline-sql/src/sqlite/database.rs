use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::config::SqliteConfig;
use super::execute::{change, describe_table, insert, list_tables, query_records, raw_query};
use super::file::DatabaseFile;
use super::session::Session;
use super::workers::Pool;
use crate::model::change::{Affected, DeleteRecord, InsertRecord, Inserted, UpdateRecord};
use crate::model::create_table::{CreateTable, Created};
use crate::model::describe::{DescribeTable, ListTables, TableDescription, TableList};
use crate::model::error::{Error, OpenError};
use crate::model::read::{QueryRecords, RawOutcome, RawQuery};
use crate::model::rowset::Rowset;

/// Methods that run a function of a module on a reader or on the writer.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($request:ty) -> $result:ty, $run:ident by $module:ident;)*) => {
        impl Database {$(
            $(#[$doc])*
            pub async fn $name(&self, request: $request) -> Result<$result, Error> {
                self.$run(move |session| $module::$name(session, &request)).await
            }
        )*}
    };
}

calls! {
    /// Lists tables and views.
    ///
    /// # Errors
    ///
    /// [`Error::BadCursor`], and the errors of every operation ([`execute_raw_query`](Self::execute_raw_query)).
    list_tables(ListTables) -> TableList, read by list_tables;

    /// Describes one table or view.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTable`], [`Error::BadArgument`], and the errors
    /// of every operation ([`execute_raw_query`](Self::execute_raw_query)).
    describe_table(DescribeTable) -> TableDescription, read by describe_table;

    /// Reads rows of one table or view.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTable`], [`Error::UnknownColumn`], [`Error::BadArgument`], [`Error::BadFilter`],
    /// [`Error::BadCursor`], [`Error::OverLimit`] for a page whose first row does not fit, and the errors
    /// of every operation ([`execute_raw_query`](Self::execute_raw_query)).
    query_records(QueryRecords) -> Rowset, read by query_records;

    /// Inserts records into a table, all or none.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`], [`Error::UnknownTable`], [`Error::UnknownColumn`], [`Error::BadArgument`],
    /// [`Error::BadColumn`], [`Error::Constraint`], [`Error::Sql`] for a view or a generated
    /// column, and the errors of every operation ([`execute_raw_query`](Self::execute_raw_query)).
    insert_record(InsertRecord) -> Inserted, write by insert;

    /// Changes the rows of a table that match filters.
    ///
    /// # Errors
    ///
    /// Those of [`insert_record`](Self::insert_record), [`Error::BadFilter`], and
    /// [`Error::TooManyRows`].
    update_record(UpdateRecord) -> Affected, write by change;

    /// Deletes the rows of a table that match filters.
    ///
    /// # Errors
    ///
    /// As of [`update_record`](Self::update_record).
    delete_record(DeleteRecord) -> Affected, write by change;

    /// Creates a table.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`], [`Error::TableExists`], [`Error::BadArgument`], [`Error::BadColumn`],
    /// [`Error::OverLimit`] for too many columns, and the errors
    /// of every operation ([`execute_raw_query`](Self::execute_raw_query)).
    create_table(CreateTable) -> Created, write by change;
}

/// A served SQLite database. Clones share its readers and its writer, which end with the last clone.
///
/// # Cancel safety
///
/// Dropping the future of a call interrupts the call. A change is then rolled back, unless its commit has begun.
#[derive(Clone)]
pub struct Database {
    pools: Arc<Pools>,
}

/// Dropped in this order: the readers end before the writer.
struct Pools {
    readers: Pool,
    writer: Option<Pool>,
}

impl Database {
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
        let readers = Pool::readers(file, config)?;
        let writer = match writing {
            Some(connection) => Some(Pool::writer(connection, &readers)?),
            None => None,
        };
        Ok(Self { pools: Arc::new(Pools { readers, writer }) })
    }

    /// The configuration.
    pub fn config(&self) -> &SqliteConfig {
        self.pools.readers.config()
    }

    /// The reason why the last calls could not read or change the database. It is safe to send to a client. Checks
    /// whether the file exists, at most once per second.
    pub fn problem(&self) -> Option<String> {
        let Pools { readers, writer } = &*self.pools;
        readers.problem().or_else(|| writer.as_ref()?.problem())
    }

    /// Ends the readers and the writer of all clones and waits until the file is closed. Returns false if that takes
    /// longer than `patience`. Running calls end normally, later ones fail with [`Error::Closed`]. Blocks.
    ///
    /// A writable database in WAL mode has a log file until it is closed. If the process ends earlier, the log remains,
    /// and SQLite applies it when the file is opened next. A read-only database need not be closed.
    pub fn close(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let Pools { readers, writer } = &*self.pools;
        writer.iter().for_each(Pool::close);
        readers.close();
        let are_readers_done = readers.wait_for_end(until);
        are_readers_done && writer.as_ref().is_none_or(|writer| writer.wait_for_end(until))
    }

    /// Runs one SQL statement: a reading one on a reader, or with `read_only: false` any permitted one on the writer.
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
    pub async fn execute_raw_query(&self, request: RawQuery) -> Result<RawOutcome, Error> {
        if request.read_only {
            let timeout = raw_query::timeout(&request, self.config())?;
            let remedy = raw_query::looks_like_change(&request.query).then(|| self.write_remedy());
            let work = move |session: &mut Session<'_>| raw_query::read(session, &request);
            let outcome = self.pools.readers.call(timeout, work).await;
            return outcome.map_err(|error| match (error, remedy) {
                (Error::Forbidden { reason }, Some(remedy)) => {
                    Error::Forbidden { reason: format!("{reason}; {remedy}") }
                }
                (error, _) => error,
            });
        }
        let writer = self.writer()?;
        let timeout = raw_query::timeout(&request, self.config())?;
        let work = move |session: &mut Session<'_>| raw_query::write(session, &request);
        writer.call(timeout, work).await
    }

    /// The remedy for a statement that writes in a read-only call.
    fn write_remedy(&self) -> &'static str {
        match self.pools.writer {
            Some(_) => "a statement that changes the database requires \"read_only\": false",
            None => {
                "the database is served read-only; start the server with --writable to allow changes"
            }
        }
    }

    async fn read<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Session<'_>) -> Result<T, Error> + Send + 'static,
    {
        self.pools.readers.call(self.config().timeout, work).await
    }

    async fn write<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut Session<'_>) -> Result<T, Error> + Send + 'static,
    {
        self.writer()?.call(self.config().timeout, work).await
    }

    fn writer(&self) -> Result<&Pool, Error> {
        self.pools.writer.as_ref().ok_or(Error::ReadOnly)
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Database").field("config", self.config()).finish_non_exhaustive()
    }
}
