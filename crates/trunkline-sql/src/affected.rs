//! Changes of rows that are there: how many they are, and whether they may stay.

use rusqlite::types::Value;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::error::Error;
use crate::filter::Filter;
use crate::schema::Table;
use crate::security::Clearance;
use crate::session::Session;

/// What was changed, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Affected {
    /// How many rows of the table matched the filters and were changed.
    pub rows_affected: u64,
    /// How many further rows foreign keys and triggers changed. Absent if none. In a database with virtual
    /// tables (full-text indexes), those of tables WITHOUT ROWID are not among them.
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
        let connection = session.connection();
        let before = connection.total_changes();
        run(session, sql, values).map_err(|error| error.on_table(&table.name))?;
        let in_total = connection.total_changes() - before;
        // What changed nothing leaves the count of an earlier statement.
        let rows_affected = if in_total == 0 { 0 } else { connection.changes() };
        let cascaded = cascaded(session, table, rows_affected, in_total)?;
        let max = self.max_affected.unwrap_or(session.settings().max_affected);
        let affected = rows_affected + cascaded;
        if affected > max {
            return Err(Error::TooManyRows { affected, cascaded, max, table: table.name.clone() });
        }
        if self.dry_run {
            session.discard_changes();
        }
        Ok(Affected { rows_affected, cascaded, dry_run: self.dry_run })
    }
}

/// Compiled anew each time: rows are counted since then.
fn run(session: &Session<'_>, sql: &str, values: Vec<Value>) -> Result<(), Error> {
    let mut statement = session.prepare(sql)?;
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, value)?;
    }
    statement.raw_execute()?;
    Ok(())
}

/// The rows besides those that the statement itself has changed. SQLite's total has also those in which a
/// virtual table keeps its content, and nobody thinks of these as rows.
fn cascaded(
    session: &mut Session<'_>,
    table: &Table,
    direct: u64,
    in_total: u64,
) -> Result<u64, Error> {
    if in_total == direct {
        return Ok(0);
    }
    let rows = session.clearance().map(Clearance::changed_rows);
    let mut rows = rows.unwrap_or_default();
    let shadows = session.shadow_tables()?;
    if shadows.is_empty() {
        return Ok(in_total - direct);
    }
    rows.retain(|name, _| !shadows.contains(name));
    if let Some(own) = rows.get_mut(&table.name) {
        *own = own.saturating_sub(direct);
    }
    Ok(rows.values().sum())
}
