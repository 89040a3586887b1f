use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::describe_table::{self, DescribeTable, TableDescription};
use crate::error::{Error, OpenError};
use crate::file::DatabaseFile;
use crate::list_tables::{self, ListTables, TableList};
use crate::query_records::{self, QueryRecords};
use crate::raw_query::{self, RawQuery};
use crate::readers::Readers;
use crate::rowset::Rowset;
use crate::session::Session;
use crate::settings::Settings;

/// A SQLite database that is served read-only. Clones share its readers, which end with the last clone.
///
/// # Cancel safety
///
/// Dropping the future of a call, or cancelling the token that it was given, interrupts the query.
#[derive(Clone)]
pub struct Database {
    readers: Arc<Readers>,
}

impl Database {
    /// Opens a database file and starts its readers. The file is read once, to find out whether it can
    /// be served. Blocks for as long as that takes, up to [`Settings::lock_wait`].
    ///
    /// # Errors
    ///
    /// See [`OpenError`].
    pub fn open(path: impl AsRef<Path>, settings: Settings) -> Result<Self, OpenError> {
        if settings.readers == 0 {
            return Err(OpenError::Setting { setting: "readers" });
        }
        let file = DatabaseFile::find(path.as_ref())?;
        file.connect(&settings)?;
        let readers = Arc::new(Readers::start(file, settings)?);
        Ok(Self { readers })
    }

    /// The settings that it was opened with.
    pub fn settings(&self) -> &Settings {
        self.readers.settings()
    }

    /// Lists tables and views.
    ///
    /// # Errors
    ///
    /// [`Error::BadCursor`], and what [`execute_raw_query`](Self::execute_raw_query) names last.
    pub async fn list_tables(
        &self,
        request: ListTables,
        cancel: &CancellationToken,
    ) -> Result<TableList, Error> {
        let timeout = self.settings().timeout;
        let work = move |session: &mut Session<'_>| list_tables::list_tables(session, &request);
        self.readers.call(timeout, cancel, work).await
    }

    /// Describes one table or view.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTable`], [`Error::BadArgument`], and what
    /// [`execute_raw_query`](Self::execute_raw_query) names last.
    pub async fn describe_table(
        &self,
        request: DescribeTable,
        cancel: &CancellationToken,
    ) -> Result<TableDescription, Error> {
        let timeout = self.settings().timeout;
        let work =
            move |session: &mut Session<'_>| describe_table::describe_table(session, &request);
        self.readers.call(timeout, cancel, work).await
    }

    /// Reads rows of one table or view.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTable`], [`Error::UnknownColumn`], [`Error::BadArgument`], [`Error::BadFilter`],
    /// [`Error::BadCursor`], [`Error::OverLimit`] for a page whose first row does not fit, and what
    /// [`execute_raw_query`](Self::execute_raw_query) names last.
    pub async fn query_records(
        &self,
        request: QueryRecords,
        cancel: &CancellationToken,
    ) -> Result<Rowset, Error> {
        let timeout = self.settings().timeout;
        let work = move |session: &mut Session<'_>| query_records::query_records(session, &request);
        self.readers.call(timeout, cancel, work).await
    }

    /// Runs one reading SQL statement.
    ///
    /// # Errors
    ///
    /// What is wrong with the statement ([`Error::Sql`], [`Error::Forbidden`], [`Error::NoStatement`],
    /// [`Error::MultipleStatements`], [`Error::NulInSql`], [`Error::OverLimit`]), with its parameters
    /// ([`Error::BadParams`]) or with the request ([`Error::BadArgument`]). For every operation:
    /// [`Error::Timeout`], [`Error::Cancelled`], [`Error::OutOfMemory`]; [`Error::Busy`],
    /// [`Error::Locked`] and [`Error::Changing`], which are worth a retry; and [`Error::Unavailable`],
    /// [`Error::Failure`] and [`Error::ReaderLost`], which are not the caller's fault.
    pub async fn execute_raw_query(
        &self,
        request: RawQuery,
        cancel: &CancellationToken,
    ) -> Result<Rowset, Error> {
        let timeout = request.check(self.settings())?;
        let work = move |session: &mut Session<'_>| raw_query::execute(session, &request);
        self.readers.call(timeout, cancel, work).await
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Database")
            .field("settings", self.settings())
            .finish_non_exhaustive()
    }
}
