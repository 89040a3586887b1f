use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::Action;

use super::scope::ReaderState;
use crate::model::committed_change::CommittedChange;

/// The role of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// Reads only.
    Reader(ReaderState),
    /// Reads and writes its database.
    Writer(WriterState),
}

impl Role {
    pub(crate) fn reader() -> Self {
        Self::Reader(ReaderState::default())
    }

    pub(crate) fn writer() -> Self {
        Self::Writer(WriterState::default())
    }
}

/// The state that the writer shares with its authorizer and its hooks: permissions, and facts about the statement and
/// the rows that it changes. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriterState(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Whether this crate begins or ends the transaction of a call, which callers must not do.
    allows_transaction: bool,
    /// Whether a statement of a caller is being compiled, and not one of a virtual table that runs.
    is_compiling: bool,
    /// Whether the next commit is rolled back after SQLite has checked it.
    vetoes_commit: bool,
    statement: StatementFacts,
    rows: RowCounts,
    change: CommittedChange,
}

/// Facts about the statement that was compiled last, from the authorizer and the update hook.
#[derive(Debug, Default)]
pub(super) struct StatementFacts {
    /// Whether the statement changes the schema, so that SQLite itself writes to its internal tables.
    pub(super) changes_schema: bool,
    /// The target of an insertion.
    pub(super) insertion_table: String,
    /// The table of a new index.
    pub(super) indexed_table: Option<String>,
    /// The number of the last row inserted into `insertion_table`.
    inserted_row: Option<i64>,
    /// The tables whose rows it may change, including changes by foreign keys and triggers.
    pub(super) written_tables: HashSet<String>,
    /// The table that it drops.
    pub(super) dropped_table: Option<String>,
}

/// The rows that a call has changed, as SQLite's update hook reports them: those of tables with row numbers,
/// without those that a conflict resolution replaces.
#[derive(Debug, Default)]
struct RowCounts {
    /// By the table's name.
    tables: HashMap<String, TableRows>,
    /// The sum over all tables but the shadow tables.
    counted: u64,
    limit: Option<u64>,
    shadow_tables: Arc<HashSet<String>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct TableRows {
    changed: u64,
    /// Rows inserted less rows deleted.
    growth: i64,
    is_counted: bool,
}

impl WriterState {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement that begins or ends a transaction.
    pub(crate) fn with_transaction_allowed<T>(&self, work: impl FnOnce() -> T) -> T {
        self.lock().allows_transaction = true;
        let outcome = work();
        self.lock().allows_transaction = false;
        outcome
    }

    /// Runs a commit that SQLite checks and then rolls back.
    pub(crate) fn with_commit_veto<T>(&self, work: impl FnOnce() -> T) -> T {
        self.lock().vetoes_commit = true;
        let outcome = work();
        self.lock().vetoes_commit = false;
        outcome
    }

    /// Compiles a caller's statement, whose facts replace those of the last one.
    pub(super) fn while_compiling<T>(&self, compile: impl FnOnce() -> T) -> T {
        let mut inner = self.lock();
        inner.is_compiling = true;
        inner.statement = StatementFacts::default();
        drop(inner);
        let outcome = compile();
        self.lock().is_compiling = false;
        outcome
    }

    /// Resets the state of an earlier call. SQLite recompiles a cached statement when the schema has changed, and it must
    /// not have the permissions of the statement that changed it.
    pub(crate) fn reset(&self) {
        *self.lock() = Inner::default();
    }

    /// Starts counting changed rows, and stops the call beyond the limit. Rows of shadow tables, in which virtual tables
    /// keep their content, do not count.
    pub(crate) fn limit_rows(&self, limit: u64, shadow_tables: Arc<HashSet<String>>) {
        self.lock().rows = RowCounts { limit: Some(limit), shadow_tables, ..RowCounts::default() };
    }

    pub(super) fn allows_transaction(&self) -> bool {
        self.lock().allows_transaction
    }

    pub(crate) fn changes_schema(&self) -> bool {
        self.lock().statement.changes_schema
    }

    pub(super) fn record_schema_change(&self) {
        let mut inner = self.lock();
        inner.statement.changes_schema = true;
        inner.change.schema = true;
    }

    /// Records that a caller's statement may change the rows of a table.
    pub(super) fn record_write(&self, table: &str) {
        let mut inner = self.lock();
        if inner.is_compiling {
            inner.statement.written_tables.insert(table.to_owned());
            inner.change.tables.insert(table.to_owned());
        }
    }

    /// Records that a caller's statement changes the definition of a table, or of any.
    pub(super) fn record_definition(&self, table: Option<&str>) {
        let change = &mut self.lock().change;
        change.any_table |= table.is_none();
        change.tables.extend(table.map(str::to_owned));
    }

    /// The change by the statements of a call, if they change anything.
    pub(crate) fn take_change(&self) -> CommittedChange {
        std::mem::take(&mut self.lock().change)
    }

    /// Records a fact about a caller's statement.
    pub(super) fn record(&self, record: impl FnOnce(&mut StatementFacts)) {
        let mut inner = self.lock();
        if inner.is_compiling {
            record(&mut inner.statement);
        }
    }

    /// The table of the new index of the statement that was compiled last.
    pub(crate) fn indexed_table(&self) -> Option<String> {
        self.lock().statement.indexed_table.clone()
    }

    /// Installs the hooks that count rows and veto commits. SQLite's own `last_insert_rowid` outlives the
    /// call, so it would show one caller the row of another.
    pub(super) fn install_hooks(&self, connection: &Connection) -> rusqlite::Result<()> {
        let writer_state = self.clone();
        connection.commit_hook(Some(move || writer_state.lock().vetoes_commit))?;
        let writer_state = self.clone();
        connection.update_hook(Some(move |action, _database: &str, table: &str, row_number| {
            writer_state.lock().record_row(action, table, row_number);
        }))
    }

    /// The number of the last row that the last statement has inserted.
    pub(crate) fn inserted_row(&self) -> Option<i64> {
        self.lock().statement.inserted_row
    }

    /// Whether the statement compiled last may change rows of one of these tables.
    pub(crate) fn writes_to(&self, tables: &HashSet<String>) -> bool {
        !self.lock().statement.written_tables.is_disjoint(tables)
    }

    /// Whether the call has changed more rows than it may. The progress handler then stops it.
    pub(crate) fn is_over_limit(&self) -> bool {
        let rows = &self.lock().rows;
        rows.limit.is_some_and(|limit| rows.counted > limit)
    }

    /// The changed rows of all tables but the shadow tables.
    pub(crate) fn counted_rows(&self) -> u64 {
        self.lock().rows.counted
    }

    /// The changed rows of shadow tables.
    pub(crate) fn shadow_rows(&self) -> u64 {
        let tables = &self.lock().rows.tables;
        tables.values().filter(|rows| !rows.is_counted).map(|rows| rows.changed).sum()
    }

    /// The growth of a table in rows, without replaced ones.
    pub(crate) fn growth(&self, table: &str) -> i64 {
        self.lock().rows.tables.get(table).map_or(0, |rows| rows.growth)
    }
}

impl Inner {
    fn record_row(&mut self, action: Action, table: &str, row_number: i64) {
        let Self { statement, rows, .. } = self;
        let of_table = match rows.tables.get_mut(table) {
            Some(of_table) => of_table,
            None => {
                let is_counted = statement.counts(table) && !rows.shadow_tables.contains(table);
                let of_table = TableRows { is_counted, ..TableRows::default() };
                rows.tables.entry(table.to_owned()).or_insert(of_table)
            }
        };
        of_table.changed += 1;
        rows.counted += u64::from(of_table.is_counted);
        match action {
            Action::SQLITE_INSERT => {
                of_table.growth += 1;
                if statement.insertion_table == table {
                    statement.inserted_row = Some(row_number);
                }
            }
            Action::SQLITE_DELETE => of_table.growth -= 1,
            _ => {}
        }
    }
}

impl StatementFacts {
    /// For a change of the schema, only rows that foreign keys change when a table is dropped count.
    fn counts(&self, table: &str) -> bool {
        match &self.dropped_table {
            Some(dropped) => dropped != table,
            None => !self.changes_schema,
        }
    }
}
