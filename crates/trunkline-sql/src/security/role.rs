use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::Action;

/// What a connection is for.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// It changes nothing.
    Reader,
    /// It changes the one database that it has open.
    Writer(Clearance),
}

impl Role {
    pub(crate) fn writer() -> Self {
        Self::Writer(Clearance::default())
    }
}

/// What the writer's authorizer has to know besides the action that it is asked about. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clearance(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// This crate begins or ends the transaction of a call. Callers cannot.
    is_transaction_ours: AtomicBool,
    /// A caller's statement is being compiled. What virtual tables compile while they run is their own.
    is_compiling: AtomicBool,
    /// The statement that was compiled last changes the schema, so SQLite itself may write to the tables
    /// that it keeps about others.
    changes_schema: AtomicBool,
    changes: Mutex<Changes>,
}

/// What happens to rows. SQLite tells it of tables that have row numbers.
#[derive(Debug, Default)]
struct Changes {
    /// Where the statement that was compiled last inserts.
    insertion_table: String,
    /// The table that it makes an index of.
    indexed_table: Option<String>,
    /// The number of the last row that came to `insertion_table`.
    inserted_row: Option<i64>,
    /// How many rows of which table were inserted, updated or deleted.
    rows: HashMap<String, u64>,
}

impl Clearance {
    /// Runs what begins or ends a transaction.
    pub(crate) fn for_transaction<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.is_transaction_ours.store(true, Ordering::Relaxed);
        let outcome = work();
        self.0.is_transaction_ours.store(false, Ordering::Relaxed);
        outcome
    }

    /// Forgets what the last statement did, before the next one is compiled.
    pub(super) fn begin_statement(&self) {
        self.0.is_compiling.store(true, Ordering::Relaxed);
        self.0.changes_schema.store(false, Ordering::Relaxed);
        *self.changes() = Changes::default();
    }

    /// Forgets what an earlier call did. A kept statement is compiled anew by SQLite itself when the schema
    /// has changed, and must not have the rights of the statement that changed it.
    pub(crate) fn forget(&self) {
        self.0.is_compiling.store(false, Ordering::Relaxed);
        self.0.changes_schema.store(false, Ordering::Relaxed);
        *self.changes() = Changes::default();
    }

    pub(super) fn end_statement(&self) {
        self.0.is_compiling.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_transaction_ours(&self) -> bool {
        self.0.is_transaction_ours.load(Ordering::Relaxed)
    }

    pub(super) fn note_schema_change(&self) {
        self.0.changes_schema.store(true, Ordering::Relaxed);
    }

    pub(crate) fn changes_schema(&self) -> bool {
        self.0.changes_schema.load(Ordering::Relaxed)
    }

    pub(super) fn note_insertion(&self, table: &str) {
        if self.0.is_compiling.load(Ordering::Relaxed) {
            table.clone_into(&mut self.changes().insertion_table);
        }
    }

    pub(super) fn note_index(&self, table: &str) {
        if self.0.is_compiling.load(Ordering::Relaxed) {
            self.changes().indexed_table = Some(table.to_owned());
        }
    }

    /// The table that the statement compiled last makes an index of, if it does.
    pub(crate) fn indexed_table(&self) -> Option<String> {
        self.changes().indexed_table.clone()
    }

    /// Has changes of rows noted. SQLite's own `last_insert_rowid` outlives the call, so it would tell one
    /// caller what another one inserted.
    pub(super) fn watch(&self, connection: &Connection) -> rusqlite::Result<()> {
        let clearance = self.clone();
        connection.update_hook(Some(move |action, _database: &str, table: &str, row_number| {
            let mut changes = clearance.changes();
            if action == Action::SQLITE_INSERT && changes.insertion_table == table {
                changes.inserted_row = Some(row_number);
            }
            match changes.rows.get_mut(table) {
                Some(rows) => *rows += 1,
                None => drop(changes.rows.insert(table.to_owned(), 1)),
            }
        }))
    }

    /// The number of the last row that the statement compiled last has inserted, if it has one.
    pub(crate) fn inserted_row(&self) -> Option<i64> {
        self.changes().inserted_row
    }

    /// How many rows of which table have changed since the last statement was compiled.
    pub(crate) fn changed_rows(&self) -> HashMap<String, u64> {
        self.changes().rows.clone()
    }

    fn changes(&self) -> std::sync::MutexGuard<'_, Changes> {
        self.0.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
