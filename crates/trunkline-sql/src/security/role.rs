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
    /// The statement that is being compiled changes the schema, so SQLite itself may write to the tables
    /// that it keeps about others.
    changes_schema: AtomicBool,
    insertion: Mutex<Insertion>,
}

/// Where the statement compiled last inserts, and the number of the last row that came there.
#[derive(Debug, Default)]
struct Insertion {
    table: String,
    row_number: Option<i64>,
}

impl Clearance {
    /// Runs what begins or ends a transaction.
    pub(crate) fn for_transaction<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.is_transaction_ours.store(true, Ordering::Relaxed);
        let outcome = work();
        self.0.is_transaction_ours.store(false, Ordering::Relaxed);
        outcome
    }

    /// Forgets what the last statement did.
    pub(super) fn begin_statement(&self) {
        self.0.changes_schema.store(false, Ordering::Relaxed);
        *self.insertion() = Insertion::default();
    }

    pub(super) fn is_transaction_ours(&self) -> bool {
        self.0.is_transaction_ours.load(Ordering::Relaxed)
    }

    pub(super) fn note_schema_change(&self) {
        self.0.changes_schema.store(true, Ordering::Relaxed);
    }

    pub(super) fn changes_schema(&self) -> bool {
        self.0.changes_schema.load(Ordering::Relaxed)
    }

    pub(super) fn note_insertion(&self, table: &str) {
        table.clone_into(&mut self.insertion().table);
    }

    /// Has the numbers of inserted rows noted. SQLite's own `last_insert_rowid` outlives the call, so it
    /// would tell one caller what another one inserted.
    pub(super) fn watch(&self, connection: &Connection) -> rusqlite::Result<()> {
        let clearance = self.clone();
        connection.update_hook(Some(move |action, _database: &str, table: &str, row_number| {
            if action == Action::SQLITE_INSERT {
                let mut insertion = clearance.insertion();
                if insertion.table == table {
                    insertion.row_number = Some(row_number);
                }
            }
        }))
    }

    /// The number of the last row that the statement compiled last has inserted, if it has one.
    pub(crate) fn inserted_row(&self) -> Option<i64> {
        self.insertion().row_number
    }

    fn insertion(&self) -> std::sync::MutexGuard<'_, Insertion> {
        self.0.insertion.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
