//! One connection as the operations see it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hashlink::LruCache;
use hashlink::linked_hash_map::RawEntryMut;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, Statement};

use super::config::SqliteConfig;
use super::file::HardenedConnection;
use super::security::{Role, WriterState, prepare_single};
use super::value;
use crate::model::error::Error;
use crate::model::schema::Table;

/// A hardened connection with its prepared statements. Lives on its worker's stack, next to the
/// connection, which lets the statements borrow from it.
pub(super) struct Session<'c> {
    connection: &'c HardenedConnection,
    config: &'c SqliteConfig,
    statements: StatementCache<'c>,
    pub(super) tables: TableCache,
    discards_changes: bool,
}

/// Tables that were looked up, by the name that was asked for, as of one version of the schema.
#[derive(Default)]
pub(super) struct TableCache {
    pub(super) schema_version: i64,
    pub(super) tables: HashMap<String, Arc<Table>>,
    pub(super) special: Option<SpecialTables>,
}

/// Tables whose rows SQLite's hooks do not report as those of other tables.
#[derive(Clone, Default)]
pub(super) struct SpecialTables {
    /// The tables in which virtual tables keep their content.
    pub(super) shadow: Arc<HashSet<String>>,
    /// The tables of callers that have no row numbers.
    pub(super) without_rowid: Arc<HashSet<String>>,
}

impl TableCache {
    /// Names are in the case that callers wrote, so there may be many for one table.
    pub(super) const CAPACITY: usize = 256;
}

impl<'c> Session<'c> {
    pub(super) fn new(connection: &'c HardenedConnection, config: &'c SqliteConfig) -> Self {
        Self {
            connection,
            config,
            discards_changes: false,
            statements: StatementCache(LruCache::new(config.statement_cache)),
            tables: TableCache::default(),
        }
    }

    pub(super) fn config(&self) -> &'c SqliteConfig {
        self.config
    }

    /// For counts and row numbers of the last statement.
    pub(super) fn connection(&self) -> &'c Connection {
        &self.connection.inner
    }

    /// The state that a writer shares with its authorizer; absent for a reader.
    pub(super) fn writer_state(&self) -> Option<&'c WriterState> {
        match &self.connection.role {
            Role::Reader => None,
            Role::Writer(writer_state) => Some(writer_state),
        }
    }

    /// Has what this call changes rolled back even if it succeeds.
    pub(super) fn discard_changes(&mut self) {
        self.discards_changes = true;
    }

    pub(super) fn discards_changes(&self) -> bool {
        self.discards_changes
    }

    /// After a rollback: what was looked up may never have been, and the number of the schema's version
    /// will be used again.
    pub(super) fn forget_changes(&mut self) {
        self.discards_changes = false;
        self.tables = TableCache::default();
    }

    /// Compiles a statement that is not kept.
    pub(super) fn prepare(&self, sql: &str) -> Result<Statement<'c>, Error> {
        prepare_single(&self.connection.inner, &self.connection.role, sql)
    }

    /// Lends the compiled statement of a text, from the cache if it is there.
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

    /// The names in the first column of one of this crate's own queries that are valid UTF-8.
    pub(super) fn names(&mut self, sql: &str) -> Result<Vec<String>, Error> {
        let names = self.rows(sql, &[], |row| value::name(row, 0))?;
        Ok(names.into_iter().flatten().collect())
    }

    /// Sets the point that [`roll_back_to_mark`](Self::roll_back_to_mark) returns to.
    pub(super) fn mark(&self) -> Result<(), Error> {
        self.in_transaction("SAVEPOINT mark")
    }

    /// Undoes the changes since the mark, which stays.
    pub(super) fn roll_back_to_mark(&self) -> Result<(), Error> {
        self.in_transaction("ROLLBACK TO mark")
    }

    fn in_transaction(&self, sql: &str) -> Result<(), Error> {
        let writer_state = self.writer_state().ok_or(Error::ReadOnly)?;
        Ok(writer_state.with_transaction_allowed(|| self.connection.inner.execute_batch(sql))?)
    }

    /// All rows of one of this crate's own queries.
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

/// The statements used last, by their text. rusqlite's own cache compiles with the recursive `prepare`,
/// which callers' SQL must not reach.
struct StatementCache<'c>(LruCache<Box<str>, Statement<'c>>);

impl<'c> StatementCache<'c> {
    /// Longer texts are rarely sent twice, and would fill the memory with programs.
    const MAX_SQL: usize = 8_192;

    fn keeps(&self, sql: &str) -> bool {
        self.0.capacity() > 0 && sql.len() <= Self::MAX_SQL
    }
}
