//! Committed changes, of which listeners are notified.

use std::collections::BTreeSet;

/// A committed change of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommittedChange {
    /// The tables and views whose rows or definition may have changed.
    pub tables: BTreeSet<String>,
    /// Whether those of any other table may have changed, too.
    pub any_table: bool,
    /// Whether tables or views may have been created, renamed or dropped.
    pub schema: bool,
}

impl CommittedChange {
    /// A change by another process, whose tables are unknown.
    pub(crate) fn unknown() -> Self {
        Self { tables: BTreeSet::new(), any_table: true, schema: true }
    }

    /// Whether the rows or the definition of a table or view may have changed. The case of ASCII letters is
    /// ignored.
    #[must_use]
    pub fn affects(&self, table: &str) -> bool {
        self.any_table || self.tables.iter().any(|changed| changed.eq_ignore_ascii_case(table))
    }
}

/// A function that is called after committed changes. It must not block.
pub type ChangeListener = Box<dyn Fn(&CommittedChange) + Send + Sync>;
