use std::collections::HashSet;
use std::time::{Duration, Instant};

use rusqlite::Statement;
use serde_json::{Map, Value as Json};

use crate::model::error::Error;
use crate::model::read::{Changed, Params, RawOutcome, RawQuery};
use crate::model::rowset::{RowNumber, Rowset, TruncatedBy};
use crate::model::value;
use crate::sqlite::collect::{Bounds, Collector};
use crate::sqlite::config::SqliteConfig;
use crate::sqlite::row_limit::{RowLimit, direct_rows};
use crate::sqlite::schema::suggest_names;
use crate::sqlite::security::WriterState;
use crate::sqlite::session::Session;

/// The timeout of a call.
pub(crate) fn timeout(request: &RawQuery, config: &SqliteConfig) -> Result<Duration, Error> {
    match request.timeout_ms {
        Some(0) => Err(Error::argument("timeout_ms", "the minimum is 1")),
        Some(requested) => Ok(config.timeout.min(Duration::from_millis(requested))),
        None => Ok(config.timeout),
    }
}

fn bounds(request: &RawQuery, config: &SqliteConfig) -> Bounds {
    Bounds {
        max_rows: request.max_rows.unwrap_or(config.default_rows).min(config.max_rows),
        max_bytes: config.max_bytes,
    }
}

/// Whether a statement begins like one that the writer allows. Affects only the message of an error.
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
        rest = end.map_or("", |(_, rest)| rest).trim_start();
    }
}

/// On a reader.
pub(crate) fn read(session: &mut Session<'_>, request: &RawQuery) -> Result<RawOutcome, Error> {
    let mut rows = Collector::new(bounds(request, session.config()), Instant::now());
    let read = session.with_statement(&request.query, |statement| {
        bind(statement, request.params.as_ref())?;
        rows.take(statement)
    });
    read.map_err(|error| suggest_names(session, &request.query, error))?;
    let rowset = rowset(rows, session.config())?;
    let max_rows = session.config().max_rows;
    Ok(RawOutcome::Rows(rowset.with_hint(|rowset| match rowset.row_count {
        0 => r#"raise "max_rows" to read rows"#.to_owned(),
        rows if rowset.truncated_by == Some(TruncatedBy::Rows) && rows < max_rows => format!(
            "add ORDER BY, LIMIT and OFFSET {rows} to the query for the next rows, or raise \
             \"max_rows\" (maximum {max_rows})"
        ),
        rows => format!("add ORDER BY, LIMIT and OFFSET {rows} to the query for the next rows"),
    })))
}

/// On the writer.
pub(crate) fn write(session: &mut Session<'_>, request: &RawQuery) -> Result<RawOutcome, Error> {
    let mut rows = Collector::new(bounds(request, session.config()), Instant::now());
    let limit = RowLimit::begin(session, request.max_affected, 0)?;
    let before = session.connection().total_changes();
    // Compiled in each call, since the authorizer records the target of an insert while it is compiled.
    let prepared = session.prepare(&request.query);
    let mut statement = prepared.map_err(|error| suggest_names(session, &request.query, error))?;
    let changes_schema = session.writer_state().is_some_and(WriterState::changes_schema);
    refuse_index_of_shadow(session, limit.shadow_tables())?;
    bind(&mut statement, request.params.as_ref())?;
    rows.take(&mut statement).map_err(|error| limit.explain(session, error))?;
    // After a change of the schema, SQLite returns the count of an earlier statement.
    let rows_affected = if changes_schema { 0 } else { direct_rows(session, before) };
    limit.check(rows_affected + limit.further_rows(session, rows_affected)?)?;
    // `ALTER TABLE` has columns too, those of an internal query.
    if statement.column_count() > 0 && (statement.is_explain() > 0 || !changes_schema) {
        let is_change = !statement.readonly();
        let rowset = rowset(rows, session.config())?;
        return Ok(RawOutcome::Rows(rowset.with_hint(|_| {
            let done = if is_change { "the change is complete; " } else { "" };
            format!("{done}use a SELECT with \"read_only\": true for the other rows")
        })));
    }
    let inserted_row = session.writer_state().and_then(WriterState::inserted_row);
    Ok(RawOutcome::Changed(Changed {
        rows_affected,
        last_insert_rowid: inserted_row.map(RowNumber),
    }))
}

/// SQLite does not let callers write to the shadow tables of a virtual table, but lets them create indexes on these;
/// a unique index would break the virtual table.
fn refuse_index_of_shadow(
    session: &Session<'_>,
    shadow_tables: &HashSet<String>,
) -> Result<(), Error> {
    let table = session.writer_state().and_then(WriterState::indexed_table);
    let is_shadow =
        |table: &String| shadow_tables.iter().any(|shadow| shadow.eq_ignore_ascii_case(table));
    if table.as_ref().is_some_and(is_shadow) {
        let reason = "the table holds the content of a virtual table".to_owned();
        return Err(Error::Forbidden { reason });
    }
    Ok(())
}

fn rowset(rows: Collector, config: &SqliteConfig) -> Result<Rowset, Error> {
    let rowset = rows.finish()?;
    if rowset.is_first_row_too_large() {
        return Err(Error::OverLimit {
            message: format!(
                "the first row alone exceeds the {} bytes of a result; \
                 select fewer columns, or parts of them",
                config.max_bytes
            ),
        });
    }
    Ok(rowset)
}

/// Binds the parameters. One without a value would be NULL, so it is an error, as is a value without a parameter.
fn bind(statement: &mut Statement<'_>, params: Option<&Params>) -> Result<(), Error> {
    match params {
        None => bind_by_position(statement, &[]),
        Some(Params::ByPosition(values)) => bind_by_position(statement, values),
        Some(Params::ByName(values)) => bind_by_name(statement, values),
    }
}

fn bind_by_position(statement: &mut Statement<'_>, values: &[Json]) -> Result<(), Error> {
    let count = statement.parameter_count();
    if values.len() != count {
        return bad_params(format!(
            "the statement has {count} parameters, but there are {} values",
            values.len()
        ));
    }
    for (index, value) in (1..).zip(values) {
        bind_one(statement, index, &format!("number {index}"), value)?;
    }
    Ok(())
}

fn bind_by_name(statement: &mut Statement<'_>, values: &Map<String, Json>) -> Result<(), Error> {
    let count = statement.parameter_count();
    let mut used = 0;
    for index in 1..=count {
        let Some(name) = statement.parameter_name(index).map(str::to_owned) else {
            return bad_params(format!("parameter number {index} has no name; send a list"));
        };
        let bare = name.get(1..).unwrap_or_default();
        let Some(value) = values.get(&name).or_else(|| values.get(bare)) else {
            return bad_params(format!("{name:?} has no value"));
        };
        bind_one(statement, index, &name, value)?;
        used += 1;
    }
    if used < values.len() {
        let names: Vec<&str> =
            (1..=count).filter_map(|index| statement.parameter_name(index)).collect();
        let is_known = |given: &str| {
            let is = |name: &&str| *name == given || name.get(1..) == Some(given);
            names.iter().any(is)
        };
        if let Some(unknown) = values.keys().find(|given| !is_known(given)) {
            return bad_params(format!("the statement has no parameter {unknown:?}"));
        }
        return bad_params("a parameter has two values".to_owned());
    }
    Ok(())
}

fn bind_one(
    statement: &mut Statement<'_>,
    index: usize,
    name: &str,
    json: &Json,
) -> Result<(), Error> {
    match value::from_json(json) {
        Ok(value) => Ok(statement.raw_bind_parameter(index, value)?),
        Err(reason) => bad_params(format!("{name}: {reason}")),
    }
}

fn bad_params<T>(reason: String) -> Result<T, Error> {
    Err(Error::BadParams { reason })
}
