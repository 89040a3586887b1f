use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::Action;

/// The role of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// Reads only.
    Reader,
    /// Changes the one database that it has open.
    Writer(WriterState),
}

impl Role {
    pub(crate) fn writer() -> Self {
        Self::Writer(WriterState::default())
    }
}

/// The state that the writer shares with its authorizer and its hooks: permissions, and facts about the statement and
/// the rows that it changes. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriterState(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// This crate begins or ends the transaction of a call. Callers cannot do so.
    allows_transaction: AtomicBool,
    /// A caller's statement is being compiled, not one that a virtual table compiles while it runs.
    is_compiling: AtomicBool,
    /// The statement that was compiled last changes the schema, so SQLite itself may write to the tables
    /// that it keeps about others.
    changes_schema: AtomicBool,
    /// The next commit is rolled back instead, once SQLite has checked it.
    vetoes_commit: AtomicBool,
    /// The call has changed more rows than it may. The progress handler then stops it.
    is_over_limit: AtomicBool,
    statement: Mutex<StatementFacts>,
    rows: Mutex<RowCounts>,
}

/// Facts about the statement that was compiled last, from the authorizer and the update hook.
#[derive(Debug, Default)]
struct StatementFacts {
    /// Where the statement that was compiled last inserts.
    insertion_table: String,
    /// The table that it makes an index of.
    indexed_table: Option<String>,
    /// The number of the last row that came to `insertion_table`.
    inserted_row: Option<i64>,
    /// The tables whose rows it may change, by foreign keys and triggers too.
    written_tables: HashSet<String>,
    /// The table that it drops.
    dropped_table: Option<String>,
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
    /// Runs a statement that begins or ends a transaction.
    pub(crate) fn with_transaction_allowed<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.allows_transaction.store(true, Ordering::Relaxed);
        let outcome = work();
        self.0.allows_transaction.store(false, Ordering::Relaxed);
        outcome
    }

    /// Runs a commit that SQLite checks and then rolls back.
    pub(crate) fn with_commit_veto<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.vetoes_commit.store(true, Ordering::Relaxed);
        let outcome = work();
        self.0.vetoes_commit.store(false, Ordering::Relaxed);
        outcome
    }

    /// Resets the facts about the last statement, before the next one is compiled.
    pub(super) fn begin_compilation(&self) {
        self.0.is_compiling.store(true, Ordering::Relaxed);
        self.0.changes_schema.store(false, Ordering::Relaxed);
        *self.statement() = StatementFacts::default();
    }

    /// Resets the state of an earlier call. A kept statement is compiled anew by SQLite itself when the schema
    /// has changed, and must not have the rights of the statement that changed it.
    pub(crate) fn reset(&self) {
        self.0.is_compiling.store(false, Ordering::Relaxed);
        self.0.changes_schema.store(false, Ordering::Relaxed);
        self.0.is_over_limit.store(false, Ordering::Relaxed);
        *self.statement() = StatementFacts::default();
        *self.rows() = RowCounts::default();
    }

    /// Counts changed rows from zero, and stops the call beyond the limit. Rows of shadow tables, in which
    /// virtual tables keep their content, do not count.
    pub(crate) fn limit_rows(&self, limit: u64, shadow_tables: Arc<HashSet<String>>) {
        self.0.is_over_limit.store(false, Ordering::Relaxed);
        *self.rows() = RowCounts { limit: Some(limit), shadow_tables, ..RowCounts::default() };
    }

    pub(super) fn end_compilation(&self) {
        self.0.is_compiling.store(false, Ordering::Relaxed);
    }

    pub(super) fn allows_transaction(&self) -> bool {
        self.0.allows_transaction.load(Ordering::Relaxed)
    }

    pub(super) fn record_schema_change(&self) {
        self.0.changes_schema.store(true, Ordering::Relaxed);
    }

    pub(crate) fn changes_schema(&self) -> bool {
        self.0.changes_schema.load(Ordering::Relaxed)
    }

    pub(super) fn record_insertion(&self, table: &str) {
        if self.0.is_compiling.load(Ordering::Relaxed) {
            table.clone_into(&mut self.statement().insertion_table);
        }
    }

    pub(super) fn record_index(&self, table: &str) {
        if self.0.is_compiling.load(Ordering::Relaxed) {
            self.statement().indexed_table = Some(table.to_owned());
        }
    }

    /// The table that the statement compiled last makes an index of, if it does.
    pub(crate) fn indexed_table(&self) -> Option<String> {
        self.statement().indexed_table.clone()
    }

    pub(super) fn record_write(&self, table: &str) {
        if self.0.is_compiling.load(Ordering::Relaxed) {
            self.statement().written_tables.insert(table.to_owned());
        }
    }

    pub(super) fn record_drop(&self, table: &str) {
        if self.0.is_compiling.load(Ordering::Relaxed) {
            self.statement().dropped_table = Some(table.to_owned());
        }
    }

    /// Installs the hooks that count rows and veto commits. SQLite's own `last_insert_rowid` outlives the
    /// call, so it would show one caller the row of another.
    pub(super) fn install_hooks(&self, connection: &Connection) -> rusqlite::Result<()> {
        let writer_state = self.clone();
        connection
            .commit_hook(Some(move || writer_state.0.vetoes_commit.load(Ordering::Relaxed)))?;
        let writer_state = self.clone();
        connection.update_hook(Some(move |action, _database: &str, table: &str, row_number| {
            writer_state.record_row(action, table, row_number);
        }))
    }

    fn record_row(&self, action: Action, table: &str, row_number: i64) {
        let mut rows = self.rows();
        let rows = &mut *rows;
        let of_table = match rows.tables.get_mut(table) {
            Some(of_table) => of_table,
            None => {
                let is_counted = self.counts(table) && !rows.shadow_tables.contains(table);
                let of_table = TableRows { is_counted, ..TableRows::default() };
                rows.tables.entry(table.to_owned()).or_insert(of_table)
            }
        };
        of_table.changed += 1;
        match action {
            Action::SQLITE_INSERT => {
                of_table.growth += 1;
                let mut statement = self.statement();
                if statement.insertion_table == table {
                    statement.inserted_row = Some(row_number);
                }
            }
            Action::SQLITE_DELETE => of_table.growth -= 1,
            _ => {}
        }
        if of_table.is_counted {
            rows.counted += 1;
            if rows.limit.is_some_and(|limit| rows.counted > limit) {
                self.0.is_over_limit.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Of a change of the schema, only the rows count that foreign keys change when a table is dropped.
    fn counts(&self, table: &str) -> bool {
        match &self.statement().dropped_table {
            Some(dropped) => dropped != table,
            None => !self.changes_schema(),
        }
    }

    /// The number of the last row that the statement compiled last has inserted, if it has one.
    pub(crate) fn inserted_row(&self) -> Option<i64> {
        self.statement().inserted_row
    }

    /// Whether the statement compiled last may change rows of one of these tables.
    pub(crate) fn writes_to(&self, tables: &HashSet<String>) -> bool {
        self.statement().written_tables.iter().any(|table| tables.contains(table))
    }

    /// Whether the call has changed more rows than it may.
    pub(crate) fn is_over_limit(&self) -> bool {
        self.0.is_over_limit.load(Ordering::Relaxed)
    }

    /// The changed rows of all tables but the shadow tables.
    pub(crate) fn counted_rows(&self) -> u64 {
        self.rows().counted
    }

    /// The changed rows of shadow tables.
    pub(crate) fn shadow_rows(&self) -> u64 {
        let rows = self.rows();
        rows.tables.values().filter(|rows| !rows.is_counted).map(|rows| rows.changed).sum()
    }

    /// By how many rows a table has grown, without those that were replaced.
    pub(crate) fn growth(&self, table: &str) -> i64 {
        self.rows().tables.get(table).map_or(0, |rows| rows.growth)
    }

    fn statement(&self) -> MutexGuard<'_, StatementFacts> {
        self.0.statement.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self) -> MutexGuard<'_, RowCounts> {
        self.0.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
