//! Changes of rows that are there: how many they are, and whether they may stay.

use std::collections::HashSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::error::Error;
use crate::filter::Filter;
use crate::schema::Table;
use crate::security::Clearance;
use crate::session::{Session, SpecialTables};
use crate::value::Value;

/// What was changed, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Affected {
    /// How many rows of the table matched the filters and were changed.
    pub rows_affected: u64,
    /// How many further rows foreign keys and triggers changed. Absent if none. In a database with virtual
    /// tables (full-text indexes), rows of those are not among them.
    #[serde(skip_serializing_if = "is_zero")]
    pub cascaded: u64,
    /// Whether this was a trial, after which everything is as it was.
    pub dry_run: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a caller says of the reach of a change, besides the filters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub(crate) all: bool,
    pub(crate) max_affected: Option<u64>,
    pub(crate) dry_run: bool,
}

impl Reach {
    /// The filter of a change. Without conditions it would change every row, which has to be said.
    pub(crate) fn filter(
        self,
        table: &Table,
        filters: &Map<String, Json>,
    ) -> Result<Filter, Error> {
        if filters.is_empty() && !self.all {
            return Err(Error::BadArgument {
                argument: "filters",
                reason: "it is empty, which means every row of the table; \
                         add conditions, or send \"all\": true if you mean that"
                    .to_owned(),
            });
        }
        Filter::all(table, filters)
    }

    /// Runs a changing statement of ours, and refuses what it did if that is too much.
    pub(crate) fn change(
        self,
        session: &mut Session<'_>,
        table: &Table,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Affected, Error> {
        let limit = RowLimit::begin(session, self.max_affected, 0)?;
        let affected = self.count(session, &limit, sql, values);
        let affected = affected.map_err(|error| error.on_table(&table.name))?;
        if self.dry_run {
            session.discard_changes();
        }
        Ok(affected)
    }

    fn count(
        self,
        session: &Session<'_>,
        limit: &RowLimit,
        sql: &str,
        values: Vec<Value>,
    ) -> Result<Affected, Error> {
        let rows_affected =
            run(session, sql, values).map_err(|error| limit.explain(session, error))?;
        let cascaded = limit.further_rows(session, rows_affected)?;
        limit.check(rows_affected + cascaded)?;
        Ok(Affected { rows_affected, cascaded, dry_run: self.dry_run })
    }
}

/// Compiled anew each time: which tables it may change is noted while it is compiled.
fn run(session: &Session<'_>, sql: &str, values: Vec<Value>) -> Result<u64, Error> {
    let before = session.connection().total_changes();
    let mut statement = session.prepare(sql)?;
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, value)?;
    }
    statement.raw_execute()?;
    Ok(direct_rows(session, before))
}

/// The rows that the last statement has changed itself, from the total before it.
pub(crate) fn direct_rows(session: &Session<'_>, before: u64) -> u64 {
    let connection = session.connection();
    // What changed nothing leaves the count of an earlier statement.
    if connection.total_changes() == before { 0 } else { connection.changes() }
}

/// The limit on the rows that one call changes.
///
/// SQLite counts every row in its total, also those in which a virtual table keeps its content, which are no
/// rows to a caller. Its update hook reports the table of each row, but not the rows of tables without row
/// numbers. Together they give the number. The hook stops the call early; what it does not see is counted
/// when the statement has ended, and rolled back then.
pub(crate) struct RowLimit {
    max: u64,
    /// SQLite's total before the call.
    before: u64,
    special: SpecialTables,
}

impl RowLimit {
    /// Counts from now on. `uncounted` rows more are not counted by the caller.
    pub(crate) fn begin(
        session: &mut Session<'_>,
        max_affected: Option<u64>,
        uncounted: u64,
    ) -> Result<Self, Error> {
        let max = max_affected.unwrap_or(session.settings().max_affected);
        let special = session.special_tables()?;
        if let Some(clearance) = session.clearance() {
            clearance.limit_rows(max.saturating_add(uncounted), Arc::clone(&special.shadow));
        }
        Ok(Self { max, before: session.connection().total_changes(), special })
    }

    /// The tables in which virtual tables keep their content.
    pub(crate) fn shadow_tables(&self) -> &HashSet<String> {
        &self.special.shadow
    }

    /// The error of a statement that was stopped because it had changed too many rows.
    pub(crate) fn explain(&self, session: &Session<'_>, error: Error) -> Error {
        match error {
            Error::Cancelled if session.clearance().is_some_and(Clearance::is_over_limit) => {
                self.error()
            }
            other => other,
        }
    }

    /// The rows that were changed besides those that the statements changed themselves.
    pub(crate) fn further_rows(&self, session: &Session<'_>, direct: u64) -> Result<u64, Error> {
        let clearance = session.clearance().ok_or(Error::ReadOnly)?;
        let total = session.connection().total_changes() - self.before;
        let changed = if clearance.changes_schema() {
            // The total has the rows of the schema, too.
            clearance.counted_rows()
        } else if self.special.shadow.is_empty() {
            total
        } else if clearance.writes_to(&self.special.without_rowid) {
            // Includes a few rows of a full-text index, which have no row numbers either.
            total.saturating_sub(clearance.shadow_rows())
        } else {
            clearance.counted_rows()
        };
        Ok(changed.saturating_sub(direct))
    }

    /// Refuses more rows than the limit.
    pub(crate) fn check(&self, rows: u64) -> Result<(), Error> {
        if rows > self.max { Err(self.error()) } else { Ok(()) }
    }

    fn error(&self) -> Error {
        Error::TooManyRows { max: self.max, table: None }
    }
}
