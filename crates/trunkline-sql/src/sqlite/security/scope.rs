//! The tables and columns that SQL of callers may read if there are rules.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::hooks::{AuthAction, AuthContext};

/// Table-valued functions that read no table.
const TABLE_FUNCTIONS: [&str; 2] = ["json_each", "json_tree"];

/// Pragmas that neither name tables nor take a value.
const PRAGMAS: [&str; 10] = [
    "application_id",
    "collation_list",
    "compile_options",
    "encoding",
    "freelist_count",
    "function_list",
    "page_count",
    "page_size",
    "schema_version",
    "user_version",
];

/// The visible tables of one version of the schema. Names are in lower case.
#[derive(Clone, Debug, Default)]
pub(crate) struct SqlScope {
    /// The visible tables and views, with their masked columns.
    pub(crate) visible: HashMap<String, Vec<String>>,
    /// The other tables and views.
    pub(crate) hidden: HashSet<String>,
    /// The tables by the root pages of their b-trees and those of their indexes.
    pub(crate) roots: HashMap<i64, String>,
}

/// The reason why the authorizer refused a statement of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It reads a hidden table.
    Hidden,
    /// It reads a masked column.
    Masked { table: String, column: String },
    /// It reads the schema.
    Schema,
}

/// The state that a reader shares with its authorizer. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReaderState(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Whether this crate begins or ends a transaction.
    allows_transaction: bool,
    /// The scope of the statement of a caller that is compiled or run.
    scope: Option<Arc<SqlScope>>,
    refusal: Option<Refusal>,
}

impl SqlScope {
    /// The masked columns of a visible table.
    pub(crate) fn masked(&self, table: &str) -> Option<&[String]> {
        self.visible.get(&table.to_ascii_lowercase()).map(Vec::as_slice)
    }

    /// Checks an action of a statement. `None` if the rules do not concern it.
    fn check(&self, context: &AuthContext<'_>) -> Option<Result<(), Refusal>> {
        match context.action {
            AuthAction::Read { table_name, column_name } => {
                Some(self.check_read(table_name, column_name))
            }
            AuthAction::Pragma { pragma_name, pragma_value } => {
                let is_harmless = pragma_value.is_none()
                    && PRAGMAS.iter().any(|known| known.eq_ignore_ascii_case(pragma_name));
                Some(if is_harmless { Ok(()) } else { Err(Refusal::Schema) })
            }
            AuthAction::Select | AuthAction::Recursive | AuthAction::Function { .. } => None,
            _ => Some(Err(Refusal::Schema)),
        }
    }

    fn check_read(&self, table: &str, column: &str) -> Result<(), Refusal> {
        let table = table.to_ascii_lowercase();
        match self.visible.get(&table) {
            Some(masked) if masked.iter().any(|one| one.eq_ignore_ascii_case(column)) => {
                Err(Refusal::Masked { table, column: column.to_owned() })
            }
            Some(_) => Ok(()),
            None if TABLE_FUNCTIONS.contains(&table.as_str()) => Ok(()),
            None if is_of_schema(&table) => Err(Refusal::Schema),
            // A table whose columns are not used, or a common table expression: SQLite reports the name in the
            // statement. The root pages show whether it is a table.
            None if column.is_empty() => Ok(()),
            None => Err(Refusal::Hidden),
        }
    }
}

/// Whether a table or a table-valued function describes the schema or the file.
fn is_of_schema(table: &str) -> bool {
    table.starts_with("sqlite_") || table.starts_with("pragma_") || table == "dbstat"
}

impl ReaderState {
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

    /// Restricts the statements that are compiled from now on, also those that SQLite compiles again.
    pub(crate) fn enter(&self, scope: Arc<SqlScope>) {
        let mut inner = self.lock();
        inner.scope = Some(scope);
        inner.refusal = None;
    }

    /// Ends the restriction, and returns the first reason why a statement was refused.
    pub(crate) fn leave(&self) -> Option<Refusal> {
        let mut inner = self.lock();
        inner.scope = None;
        inner.refusal.take()
    }

    /// Whether an action is allowed. `None` if other rules decide.
    pub(super) fn verdict(&self, context: &AuthContext<'_>) -> Option<bool> {
        let mut inner = self.lock();
        if inner.allows_transaction && matches!(context.action, AuthAction::Transaction { .. }) {
            return Some(true);
        }
        match inner.scope.as_ref()?.check(context)? {
            Ok(()) => Some(true),
            Err(refusal) => {
                inner.refusal.get_or_insert(refusal);
                Some(false)
            }
        }
    }
}
