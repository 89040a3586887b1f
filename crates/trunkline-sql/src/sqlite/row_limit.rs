use std::collections::HashSet;
use std::sync::Arc;

use super::security::WriterState;
use super::session::{Session, SpecialTables};
use crate::model::error::Error;

/// The number of rows that the last statement has changed directly, given the total before it.
pub(super) fn direct_rows(session: &Session<'_>, before: u64) -> u64 {
    let connection = session.connection();
    // After a statement that changed nothing, SQLite returns the count of an earlier one.
    if connection.total_changes() == before { 0 } else { connection.changes() }
}

/// The limit on the rows that one call changes.
///
/// SQLite's total includes the rows of shadow tables, in which virtual tables keep their content. Its update hook
/// reports the table of each row, but not rows of tables without row numbers. The number is derived from both. The hook
/// stops the call early; rows that it does not report are counted at the end of the statement, which is then rolled
/// back.
pub(super) struct RowLimit {
    max: u64,
    /// SQLite's total before the call.
    before: u64,
    special: SpecialTables,
}

impl RowLimit {
    /// Starts counting. `uncounted` further rows are allowed.
    pub(super) fn begin(
        session: &mut Session<'_>,
        max_affected: Option<u64>,
        uncounted: u64,
    ) -> Result<Self, Error> {
        let max = max_affected.unwrap_or(session.config().limits.max_affected);
        let special = session.special_tables()?;
        if let Some(writer_state) = session.writer_state() {
            writer_state.limit_rows(max.saturating_add(uncounted), Arc::clone(&special.shadow));
        }
        Ok(Self { max, before: session.connection().total_changes(), special })
    }

    /// The tables in which virtual tables keep their content.
    pub(super) fn shadow_tables(&self) -> &HashSet<String> {
        &self.special.shadow
    }

    /// The error of a statement that was stopped because it had changed too many rows.
    pub(super) fn explain(&self, session: &Session<'_>, error: Error) -> Error {
        match error {
            Error::Cancelled if session.writer_state().is_some_and(WriterState::is_over_limit) => {
                self.error()
            }
            other => other,
        }
    }

    /// The number of rows that were changed indirectly, given the directly changed ones.
    pub(super) fn further_rows(&self, session: &Session<'_>, direct: u64) -> Result<u64, Error> {
        let writer_state = session.writer_state().ok_or(Error::ReadOnly)?;
        let total = session.connection().total_changes() - self.before;
        let changed = if writer_state.changes_schema() {
            // The total includes rows of the schema.
            writer_state.counted_rows()
        } else if self.special.shadow.is_empty() {
            total
        } else if writer_state.writes_to(&self.special.without_rowid) {
            // Includes a few rows of a full-text index, which have no row numbers either.
            total.saturating_sub(writer_state.shadow_rows())
        } else {
            writer_state.counted_rows()
        };
        Ok(changed.saturating_sub(direct))
    }

    /// Refuses more rows than the limit.
    pub(super) fn check(&self, rows: u64) -> Result<(), Error> {
        if rows > self.max { Err(self.error()) } else { Ok(()) }
    }

    fn error(&self) -> Error {
        Error::TooManyRows { max: self.max, table: None }
    }
}
