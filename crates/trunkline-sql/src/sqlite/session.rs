//! One connection with its caches.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hashlink::LruCache;
use hashlink::linked_hash_map::RawEntryMut;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, Statement};

use super::config::SqliteConfig;
use super::file::{DatabaseFile, HardenedConnection};
use super::security::{ReaderState, Role, SqlScope, WriterState, prepare_single};
use crate::model::error::Error;
use crate::model::schema::Table;

/// A hardened connection with its prepared statements. It is on the stack of its worker, so that the statements can
/// borrow from the connection.
pub(super) struct Session<'c> {
    connection: &'c HardenedConnection,
    config: &'c SqliteConfig,
    statements: StatementCache<'c>,
    pub(super) tables: TableCache,
    discards_changes: bool,
    /// The last known version of the data, of the writer.
    data_version: Option<i64>,
}

/// Cached tables of one version of the schema, by the requested name.
#[derive(Default)]
pub(super) struct TableCache {
    pub(super) schema_version: i64,
    pub(super) tables: HashMap<String, Arc<Table>>,
    pub(super) special: Option<SpecialTables>,
    /// The tables that SQL of callers may read, if there are rules.
    pub(super) scope: Option<Arc<SqlScope>>,
}

/// Tables and views whose rows SQLite's hooks do not report as those of other tables.
#[derive(Clone, Default)]
pub(super) struct SpecialTables {
    /// The tables in which virtual tables keep their content.
    pub(super) shadow: Arc<HashSet<String>>,
    /// The tables of callers that have no row numbers.
    pub(super) without_rowid: Arc<HashSet<String>>,
    /// Views, whose rows change with those of tables.
    pub(super) views: Arc<HashSet<String>>,
}

impl TableCache {
    /// Names are in the spelling of callers, so one table may have several.
    pub(super) const CAPACITY: usize = 256;
}

impl<'c> Session<'c> {
    pub(super) fn new(connection: &'c HardenedConnection, config: &'c SqliteConfig) -> Self {
        let data_version = match &connection.role {
            Role::Reader(_) => None,
            Role::Writer(_) => connection.data_version(),
        };
        Self {
            connection,
            config,
            data_version,
            discards_changes: false,
            statements: StatementCache(LruCache::new(config.statement_cache)),
            tables: TableCache::default(),
        }
    }

    pub(super) fn config(&self) -> &'c SqliteConfig {
        self.config
    }

    /// The connection, for counts and row numbers of the last statement.
    pub(super) fn connection(&self) -> &'c Connection {
        &self.connection.inner
    }

    /// The role, for statements that callers must not run.
    pub(super) fn role(&self) -> &'c Role {
        &self.connection.role
    }

    /// The file of the connection.
    pub(super) fn file(&self) -> &'c DatabaseFile {
        self.connection.file()
    }

    /// The state that a writer shares with its authorizer; absent for a reader.
    pub(super) fn writer_state(&self) -> Option<&'c WriterState> {
        match &self.connection.role {
            Role::Reader(_) => None,
            Role::Writer(writer_state) => Some(writer_state),
        }
    }

    /// The state that a reader shares with its authorizer; absent for the writer.
    pub(super) fn reader_state(&self) -> Option<&'c ReaderState> {
        match &self.connection.role {
            Role::Reader(reader_state) => Some(reader_state),
            Role::Writer(_) => None,
        }
    }

    /// Begins a transaction of a reader, in which the schema does not change.
    pub(super) fn begin_read(&self) -> Result<(), Error> {
        let reader_state = self.reader_state().ok_or(Error::ReaderLost)?;
        Ok(reader_state
            .with_transaction_allowed(|| self.connection.inner.execute_batch("BEGIN"))?)
    }

    /// Ends the transaction of a reader.
    pub(super) fn end_read(&self) {
        let Some(reader_state) = self.reader_state() else { return };
        let end = || self.connection.inner.execute_batch("ROLLBACK");
        if !self.connection.inner.is_autocommit()
            && let Err(error) = reader_state.with_transaction_allowed(end)
        {
            tracing::error!(%error, "a transaction could not be ended");
        }
    }

    /// Rolls back the changes of this call even if it succeeds.
    pub(super) fn discard_changes(&mut self) {
        self.discards_changes = true;
    }

    pub(super) fn discards_changes(&self) -> bool {
        self.discards_changes
    }

    /// Clears the cache after a rollback, which restores an earlier schema and reuses the number of its version.
    pub(super) fn forget_changes(&mut self) {
        self.discards_changes = false;
        self.tables = TableCache::default();
    }

    /// Whether another process has written since the last call of this function. For the writer.
    pub(super) fn has_foreign_write(&mut self) -> bool {
        let found = self.connection.data_version();
        std::mem::replace(&mut self.data_version, found) != found
    }

    /// Compiles a statement without caching it.
    pub(super) fn prepare(&self, sql: &str) -> Result<Statement<'c>, Error> {
        prepare_single(&self.connection.inner, &self.connection.role, sql)
    }

    /// Runs `work` with the compiled statement of a text, from the cache if possible.
    pub(super) fn with_statement<T>(
        &mut self,
        sql: &str,
        work: impl FnOnce(&mut Statement<'c>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let connection = self.connection;
        let prepare = || prepare_single(&connection.inner, &connection.role, sql);
        if !self.statements.keeps(sql) {
            return work(&mut prepare()?);
        }
        let statement = match self.statements.0.raw_entry_mut().from_key(sql) {
            RawEntryMut::Occupied(mut entry) => {
                entry.to_back();
                entry.into_mut()
            }
            RawEntryMut::Vacant(entry) => entry.insert(sql.into(), prepare()?).1,
        };
        let outcome = work(statement);
        statement.clear_bindings();
        outcome
    }

    /// Sets the savepoint of [`roll_back_to_savepoint`](Self::roll_back_to_savepoint).
    pub(super) fn set_savepoint(&self) -> Result<(), Error> {
        self.in_transaction("SAVEPOINT before")
    }

    /// Undoes the changes since the savepoint, which remains.
    pub(super) fn roll_back_to_savepoint(&self) -> Result<(), Error> {
        self.in_transaction("ROLLBACK TO before")
    }

    fn in_transaction(&self, sql: &str) -> Result<(), Error> {
        let writer_state = self.writer_state().ok_or(Error::ReadOnly)?;
        Ok(writer_state.with_transaction_allowed(|| self.connection.inner.execute_batch(sql))?)
    }

    /// All rows of an internal query.
    pub(super) fn rows<T>(
        &mut self,
        sql: &str,
        params: &[&str],
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        self.with_statement(sql, |statement| {
            let params = params.iter().map(|text| Value::Text((*text).to_owned()));
            let mut rows = statement.query(rusqlite::params_from_iter(params))?;
            let mut collected = Vec::new();
            while let Some(row) = rows.next()? {
                collected.push(read(row)?);
            }
            Ok(collected)
        })
    }
}

/// The most recently used statements, by their text. rusqlite's own cache uses the recursive `prepare`, which must not
/// compile SQL of callers.
struct StatementCache<'c>(LruCache<Box<str>, Statement<'c>>);

impl<'c> StatementCache<'c> {
    /// The maximum length of cached texts. Longer ones are rarely repeated and take much memory.
    const MAX_SQL: usize = 8_192;

    fn keeps(&self, sql: &str) -> bool {
        self.0.capacity() > 0 && sql.len() <= Self::MAX_SQL
    }
}
