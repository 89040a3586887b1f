mod params;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::affected::{RowLimit, direct_rows};
use crate::error::Error;
use crate::format::Format;
use crate::rowset::{Bounds, Collector, RowNumber, Rowset};
use crate::security::Clearance;
use crate::session::Session;
use crate::settings::Settings;
use crate::shapes;
use crate::whole_number;

pub use params::Params;

/// Runs one SQL statement.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawQuery {
    /// Exactly one SQLite statement, at most 100,000 bytes. Put values into `params`, not into the text.
    pub query: String,
    /// Values for the statement's parameters: a list for ?, or an object for :name.
    #[serde(default)]
    #[schemars(schema_with = "shapes::params")]
    pub params: Option<Params>,
    /// False to let the statement change the database: it then runs in a transaction of its own, if the
    /// server allows changes at all. Default true.
    #[serde(default = "yes")]
    pub read_only: bool,
    /// Most rows wanted. The server has a bound of its own, 1,000 by default.
    #[serde(default, deserialize_with = "whole_number::optional")]
    #[schemars(schema_with = "shapes::count")]
    pub max_rows: Option<u64>,
    /// Longest time in milliseconds. The server has a bound of its own, 5,000 by default.
    #[serde(default, deserialize_with = "whole_number::optional")]
    #[schemars(schema_with = "shapes::milliseconds")]
    pub timeout_ms: Option<u64>,
    /// How rows are written in the text for language models: "tsv" (default) or "json". The structured
    /// result is the same for both.
    #[serde(default)]
    pub format: Option<Format>,
    /// Most rows that a statement with "read_only": false may insert, update and delete, those that foreign
    /// keys and triggers change included; if there are more, the call fails and changes nothing. Default
    /// 1,000, or what the server is set to.
    #[serde(default, deserialize_with = "whole_number::optional")]
    #[schemars(schema_with = "shapes::count")]
    pub max_affected: Option<u64>,
}

fn yes() -> bool {
    true
}

/// The result of a statement: its rows, or how many it changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("type" = "object"))]
pub enum RawOutcome {
    /// The rows of a statement that gives rows, also of one that changes them (`RETURNING`).
    Rows(Rowset),
    /// What a statement without rows has changed.
    Changed(Changed),
}

/// What a statement without rows has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changed {
    /// How many rows were inserted, updated or deleted, without those that triggers and foreign keys
    /// changed. 0 for a change of the schema.
    pub rows_affected: u64,
    /// The row number of the last row that it inserted. Null if it inserted none, or one without a number.
    pub last_insert_rowid: Option<RowNumber>,
}

impl RawOutcome {
    /// The rows, if the statement gives rows.
    pub fn into_rows(self) -> Option<Rowset> {
        match self {
            Self::Rows(rowset) => Some(rowset),
            Self::Changed(_) => None,
        }
    }
}

impl RawQuery {
    /// A reading statement without parameters, under the server's limits.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            params: None,
            read_only: true,
            max_rows: None,
            timeout_ms: None,
            format: None,
            max_affected: None,
        }
    }

    /// The time that the call may take.
    pub(crate) fn timeout(&self, settings: &Settings) -> Result<Duration, Error> {
        match self.timeout_ms {
            Some(0) => Err(Error::BadArgument {
                argument: "timeout_ms",
                reason: "it must be at least 1".to_owned(),
            }),
            Some(wanted) => Ok(settings.timeout.min(Duration::from_millis(wanted))),
            None => Ok(settings.timeout),
        }
    }

    fn bounds(&self, settings: &Settings) -> Bounds {
        Bounds {
            max_rows: self
                .max_rows
                .map_or(settings.max_rows, |wanted| wanted.min(settings.max_rows)),
            max_bytes: settings.max_bytes,
        }
    }
}

/// Whether a statement begins like one that the writer may take. It chooses words of an error only.
pub(crate) fn looks_like_change(sql: &str) -> bool {
    const WORDS: [&str; 8] =
        ["ALTER", "CREATE", "DELETE", "DROP", "INSERT", "REPLACE", "UPDATE", "WITH"];
    let first = without_comments(sql).split(|c: char| !c.is_ascii_alphabetic()).next();
    first.is_some_and(|first| WORDS.iter().any(|word| word.eq_ignore_ascii_case(first)))
}

fn without_comments(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        let end = match (rest.strip_prefix("--"), rest.strip_prefix("/*")) {
            (Some(comment), _) => comment.split_once('\n'),
            (_, Some(comment)) => comment.split_once("*/"),
            _ => return rest,
        };
        rest = end.map_or("", |(_, behind)| behind).trim_start();
    }
}

/// On a reader.
pub(crate) fn read(session: &mut Session<'_>, request: &RawQuery) -> Result<RawOutcome, Error> {
    let mut rows = Collector::new(request.bounds(session.settings()), Instant::now());
    session.with_statement(&request.query, |statement| {
        params::bind(statement, request.params.as_ref())?;
        rows.take(statement)
    })?;
    let rowset = rowset(rows, session.settings())?;
    Ok(RawOutcome::Rows(rowset.with_hint(|rowset| match rowset.row_count {
        0 => r#"raise "max_rows" to read rows"#.to_owned(),
        rows => format!("add ORDER BY, LIMIT and OFFSET {rows} to the query for the next rows"),
    })))
}

/// On the writer.
pub(crate) fn write(session: &mut Session<'_>, request: &RawQuery) -> Result<RawOutcome, Error> {
    let mut rows = Collector::new(request.bounds(session.settings()), Instant::now());
    let limit = RowLimit::begin(session, request.max_affected, 0)?;
    let before = session.connection().total_changes();
    // Compiled anew each time: what it inserts into is learnt while it is compiled.
    let mut statement = session.prepare(&request.query)?;
    let changes_schema = session.clearance().is_some_and(Clearance::changes_schema);
    refuse_index_of_shadow(session, limit.shadow_tables())?;
    params::bind(&mut statement, request.params.as_ref())?;
    rows.take(&mut statement).map_err(|error| limit.explain(session, error))?;
    // A change of the schema leaves the count of an earlier statement.
    let rows_affected = if changes_schema { 0 } else { direct_rows(session, before) };
    limit.check(rows_affected + limit.further_rows(session, rows_affected)?)?;
    // `ALTER TABLE` has columns too, of a query that it makes for itself.
    if statement.column_count() > 0 && (statement.is_explain() > 0 || !changes_schema) {
        let is_change = !statement.readonly();
        let rowset = rowset(rows, session.settings())?;
        return Ok(RawOutcome::Rows(rowset.with_hint(|_| {
            let done = if is_change { "the change is complete; " } else { "" };
            format!("{done}use a SELECT with \"read_only\": true for the other rows")
        })));
    }
    let inserted_row = session.clearance().and_then(Clearance::inserted_row);
    Ok(RawOutcome::Changed(Changed {
        rows_affected,
        last_insert_rowid: inserted_row.map(RowNumber),
    }))
}

/// SQLite keeps callers from writing to the tables behind a virtual one, but lets them index these; a
/// unique index would break the virtual table.
fn refuse_index_of_shadow(
    session: &Session<'_>,
    shadow_tables: &HashSet<String>,
) -> Result<(), Error> {
    let table = session.clearance().and_then(Clearance::indexed_table);
    let is_shadow =
        |table: &String| shadow_tables.iter().any(|shadow| shadow.eq_ignore_ascii_case(table));
    if table.as_ref().is_some_and(is_shadow) {
        let reason = "the table holds the content of a virtual table".to_owned();
        return Err(Error::Forbidden { reason });
    }
    Ok(())
}

fn rowset(rows: Collector, settings: &Settings) -> Result<Rowset, Error> {
    let rowset = rows.finish()?;
    if rowset.lacks_room_for_one() {
        return Err(Error::OverLimit {
            message: format!(
                "the first row alone has more than the {} bytes of a result; \
                 select fewer columns, or parts of them",
                settings.max_bytes
            ),
        });
    }
    Ok(rowset)
}
