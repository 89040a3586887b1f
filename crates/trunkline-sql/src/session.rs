//! One connection as the operations see it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, Row, Statement};

use crate::error::Error;
use crate::file::Link;
use crate::name;
use crate::schema::Table;
use crate::security::{Clearance, Role, prepare_single};
use crate::settings::Settings;

/// A hardened connection with its prepared statements. Lives on its worker's stack, beside the
/// connection, which lets the statements borrow from it.
pub(crate) struct Session<'c> {
    link: &'c Link,
    settings: &'c Settings,
    statements: StatementCache<'c>,
    tables: TableCache,
    discards_changes: bool,
}

/// Tables that were looked up, by the name that was asked for, as of one version of the schema.
#[derive(Default)]
struct TableCache {
    schema_version: i64,
    tables: HashMap<String, Arc<Table>>,
    special: Option<SpecialTables>,
}

/// Tables whose rows SQLite's hooks do not report as those of other tables.
#[derive(Clone, Default)]
pub(crate) struct SpecialTables {
    /// The tables in which virtual tables keep their content.
    pub(crate) shadow: Arc<HashSet<String>>,
    /// The tables of callers that have no row numbers.
    pub(crate) without_rowid: Arc<HashSet<String>>,
}

impl TableCache {
    /// Names are in the case that callers wrote, so there may be many for one table.
    const CAPACITY: usize = 256;
}

impl<'c> Session<'c> {
    pub(crate) fn new(link: &'c Link, settings: &'c Settings) -> Self {
        Self {
            link,
            settings,
            discards_changes: false,
            statements: StatementCache::new(settings.statement_cache),
            tables: TableCache::default(),
        }
    }

    pub(crate) fn settings(&self) -> &'c Settings {
        self.settings
    }

    /// For counts and row numbers of the last statement.
    pub(crate) fn connection(&self) -> &'c Connection {
        &self.link.connection
    }

    /// What is known of the statement that was compiled last, if it may write.
    pub(crate) fn clearance(&self) -> Option<&'c Clearance> {
        match &self.link.role {
            Role::Reader => None,
            Role::Writer(clearance) => Some(clearance),
        }
    }

    /// Has what this call changes rolled back even if it succeeds.
    pub(crate) fn discard_changes(&mut self) {
        self.discards_changes = true;
    }

    pub(crate) fn discards_changes(&self) -> bool {
        self.discards_changes
    }

    /// After a rollback: what was looked up may never have been, and the number of the schema's version
    /// will be used again.
    pub(crate) fn forget_changes(&mut self) {
        self.discards_changes = false;
        self.tables = TableCache::default();
    }

    /// Compiles a statement that is not kept.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement<'c>, Error> {
        prepare_single(&self.link.connection, &self.link.role, sql)
    }

    /// Lends the compiled statement of a text, from the cache if it is there.
    pub(crate) fn with_statement<T>(
        &mut self,
        sql: &str,
        work: impl FnOnce(&mut Statement<'c>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut statement = match self.statements.take(sql) {
            Some(statement) => statement,
            None => self.prepare(sql)?,
        };
        let outcome = work(&mut statement);
        statement.clear_bindings();
        self.statements.put(sql, statement);
        outcome
    }

    /// A table or view, looked up again only after the schema has changed.
    pub(crate) fn table(&mut self, name: &str) -> Result<Arc<Table>, Error> {
        self.look_at_schema_version()?;
        if let Some(table) = self.tables.tables.get(name) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(Table::find(self, name)?);
        if self.tables.tables.len() >= TableCache::CAPACITY {
            self.tables.tables.clear();
        }
        self.tables.tables.insert(name.to_owned(), Arc::clone(&table));
        Ok(table)
    }

    /// The names in the first column of one of this crate's own queries that are valid UTF-8.
    pub(crate) fn names(&mut self, sql: &str) -> Result<Vec<String>, Error> {
        let names = self.rows(sql, &[], |row| name::read(row, 0))?;
        Ok(names.into_iter().flatten().collect())
    }

    /// The shadow tables, and those without row numbers.
    pub(crate) fn special_tables(&mut self) -> Result<SpecialTables, Error> {
        self.look_at_schema_version()?;
        if let Some(special) = &self.tables.special {
            return Ok(special.clone());
        }
        let rows = self.rows(
            "SELECT name, type = 'shadow' FROM pragma_table_list \
             WHERE schema = 'main' AND (type = 'shadow' OR type = 'table' AND wr)",
            &[],
            |row| Ok((name::read(row, 0)?, row.get::<_, bool>(1)?)),
        )?;
        let named = rows.into_iter().filter_map(|(name, is_shadow)| Some((name.ok()?, is_shadow)));
        let (shadow, other): (Vec<_>, Vec<_>) = named.partition(|(_, is_shadow)| *is_shadow);
        let names = |tables: Vec<(String, bool)>| {
            Arc::new(tables.into_iter().map(|(name, _)| name).collect::<HashSet<_>>())
        };
        let special = SpecialTables { shadow: names(shadow), without_rowid: names(other) };
        self.tables.special = Some(special.clone());
        Ok(special)
    }

    /// Forgets what was looked up if the schema has changed since.
    fn look_at_schema_version(&mut self) -> Result<(), Error> {
        let versions = self.rows("PRAGMA schema_version", &[], |row| row.get(0))?;
        let schema_version = versions.first().copied().unwrap_or_default();
        if self.tables.schema_version != schema_version {
            self.tables = TableCache { schema_version, ..TableCache::default() };
        }
        Ok(())
    }

    /// Sets the point that [`roll_back_to_mark`](Self::roll_back_to_mark) returns to.
    pub(crate) fn mark(&self) -> Result<(), Error> {
        self.in_transaction("SAVEPOINT mark")
    }

    /// Undoes the changes since the mark, which stays.
    pub(crate) fn roll_back_to_mark(&self) -> Result<(), Error> {
        self.in_transaction("ROLLBACK TO mark")
    }

    fn in_transaction(&self, sql: &str) -> Result<(), Error> {
        let clearance = self.clearance().ok_or(Error::ReadOnly)?;
        Ok(clearance.for_transaction(|| self.link.connection.execute_batch(sql))?)
    }

    /// All rows of one of this crate's own queries.
    pub(crate) fn rows<T>(
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
struct StatementCache<'c> {
    capacity: usize,
    clock: u64,
    entries: HashMap<Box<str>, (u64, Statement<'c>)>,
}

impl<'c> StatementCache<'c> {
    /// Longer texts are rarely sent twice, and would fill the memory with programs.
    const MAX_SQL: usize = 8_192;

    fn new(capacity: usize) -> Self {
        Self { capacity, clock: 0, entries: HashMap::with_capacity(capacity) }
    }

    fn take(&mut self, sql: &str) -> Option<Statement<'c>> {
        self.entries.remove(sql).map(|(_, statement)| statement)
    }

    fn put(&mut self, sql: &str, statement: Statement<'c>) {
        if self.capacity == 0 || sql.len() > Self::MAX_SQL {
            return;
        }
        if self.entries.len() >= self.capacity {
            self.evict_oldest();
        }
        self.clock += 1;
        self.entries.insert(sql.into(), (self.clock, statement));
    }

    fn evict_oldest(&mut self) {
        let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used);
        if let Some(sql) = oldest.map(|(sql, _)| sql.clone()) {
            self.entries.remove(&sql);
        }
    }
}
