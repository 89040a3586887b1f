use std::collections::HashSet;
use std::time::Instant;

use rusqlite::Statement;
use serde_json::{Map, Value as Json};

use crate::model::error::Error;
use crate::model::read::{Changed, Params, RawOutcome, RawQuery};
use crate::model::rowset::RowNumber;
use crate::model::value;
use crate::query::raw;
use crate::sqlite::collect::Collector;
use crate::sqlite::raw_sql::restricted;
use crate::sqlite::row_limit::{RowLimit, direct_rows};
use crate::sqlite::schema::suggest_names;
use crate::sqlite::security::WriterState;
use crate::sqlite::session::Session;

/// On a reader.
pub(crate) fn read(session: &mut Session<'_>, request: &RawQuery) -> Result<RawOutcome, Error> {
    let mut rows = Collector::new(raw::bounds(request, &session.config().limits), Instant::now());
    let sql = request.query.as_str();
    let read = if session.config().rules.is_empty() {
        session.with_statement(sql, |statement| {
            bind(statement, request.params.as_ref())?;
            rows.take(statement)
        })
    } else {
        restricted(session, sql, |session, sql| {
            let mut statement = session.prepare(sql)?;
            bind(&mut statement, request.params.as_ref())?;
            rows.take(&mut statement)
        })
    };
    read.map_err(|error| suggest_names(session, &request.query, error))?;
    let limits = &session.config().limits;
    Ok(RawOutcome::Rows(raw::complete(rows.finish()?, limits)?))
}

/// On the writer.
pub(crate) fn write(session: &mut Session<'_>, request: &RawQuery) -> Result<RawOutcome, Error> {
    let mut rows = Collector::new(raw::bounds(request, &session.config().limits), Instant::now());
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
        let rowset = raw::complete_write(rows.finish()?, &session.config().limits, is_change)?;
        return Ok(RawOutcome::Rows(rowset));
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

/// Binds the parameters. One without a value would be NULL, so it is an error, as is a value without a parameter.
pub(super) fn bind(statement: &mut Statement<'_>, params: Option<&Params>) -> Result<(), Error> {
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
