use crate::model::change::{Affected, DeleteRecord, UpdateRecord};
use crate::model::create_table::{CreateTable, Created};
use crate::model::error::Error;
use crate::model::schema::{Dialect, Table};
use crate::model::table_name::TableName;
use crate::query;
use crate::query::change::{Change, without_other_tables};
use crate::sqlite::row_limit::{RowLimit, direct_rows};
use crate::sqlite::schema;
use crate::sqlite::session::Session;
use crate::sqlite::value;

pub(crate) fn update_record(
    session: &mut Session<'_>,
    request: &UpdateRecord,
) -> Result<Affected, Error> {
    let table = session.table(&request.table_name)?;
    let change = Change::update(&table, request)?;
    let limit = RowLimit::begin(session, request.max_affected, 0)?;
    run(session, &table, &change, &limit, request.dry_run)
}

pub(crate) fn delete_record(
    session: &mut Session<'_>,
    request: &DeleteRecord,
) -> Result<Affected, Error> {
    let table = session.table(&request.table_name)?;
    let change = Change::delete(&table, request)?;
    let limit = RowLimit::begin(session, request.max_affected, 0)?;
    run(session, &table, &change, &limit, request.dry_run)
}

/// Runs a change, and refuses it if it affected too many rows.
fn run(
    session: &mut Session<'_>,
    table: &Table,
    change: &Change<'_>,
    limit: &RowLimit,
    dry_run: bool,
) -> Result<Affected, Error> {
    let count = || {
        let rows_affected =
            execute(session, change).map_err(|error| limit.explain(session, error))?;
        let cascaded = limit.further_rows(session, rows_affected)?;
        limit.check(rows_affected + cascaded)?;
        Ok(Affected { rows_affected, cascaded, dry_run })
    };
    let rules = &session.config().rules;
    let affected = count().map_err(|error: Error| {
        without_other_tables(error, rules, &table.name).on_table(&table.name)
    })?;
    if dry_run {
        session.discard_changes();
    }
    Ok(affected)
}

/// Runs a statement and returns the number of directly changed rows. It is compiled in each call, since the authorizer
/// records the tables that it may change.
fn execute(session: &Session<'_>, change: &Change<'_>) -> Result<u64, Error> {
    let before = session.connection().total_changes();
    let mut statement = session.prepare(&change.sql)?;
    value::bind(&mut statement, &change.values)?;
    statement.raw_execute()?;
    Ok(direct_rows(session, before))
}

pub(crate) fn create_table(
    session: &mut Session<'_>,
    request: &CreateTable,
) -> Result<Created, Error> {
    let spelled = TableName::of_sqlite(&request.table_name).map(|spelled| spelled.name);
    let name = spelled.as_ref().unwrap_or(&request.table_name);
    query::create_table::check_visible(&session.config().rules, None, name)?;
    let ddl = query::create_table::create_table(request, Dialect::Sqlite, None, name)?;
    match session.table(name) {
        Ok(table) if request.if_not_exists => {
            return Ok(Created {
                ddl: schema::ddl(session, &table.name)?,
                table: table.name.clone(),
                created: false,
            });
        }
        Ok(table) => return Err(Error::TableExists { table: table.name.clone() }),
        Err(Error::UnknownTable { .. }) => {}
        Err(error) => return Err(error),
    }
    session
        .prepare(&ddl)
        .and_then(|mut s| Ok(s.raw_execute()?))
        .map_err(|error| error.on_table(name))?;
    Ok(Created { table: name.clone(), ddl: schema::ddl(session, name)?, created: true })
}
