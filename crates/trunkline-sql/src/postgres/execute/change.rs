use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::model::change::{Affected, DeleteRecord, UpdateRecord};
use crate::model::create_table::{CreateTable, Created};
use crate::model::error::Error;
use crate::model::rowset::Bounds;
use crate::model::schema::{Dialect, Table};
use crate::postgres::error::with_column;
use crate::postgres::rows::Collector;
use crate::postgres::transaction::Transaction;
use crate::postgres::{catalog, params, visibility};
use crate::query;
use crate::query::change::Change;
use crate::query::identifier::quote;

pub(crate) async fn update_record(
    transaction: &mut Transaction,
    request: &UpdateRecord,
) -> Result<Affected, Error> {
    let table = catalog::table(transaction, &request.table_name).await?;
    let change = Change::update(&table, request)?;
    let affected = run(transaction, &table, &change, request.max_affected).await?;
    finish(transaction, affected, request.dry_run)
}

pub(crate) async fn delete_record(
    transaction: &mut Transaction,
    request: &DeleteRecord,
) -> Result<Affected, Error> {
    let table = catalog::table(transaction, &request.table_name).await?;
    let change = Change::delete(&table, request)?;
    let affected = run(transaction, &table, &change, request.max_affected).await?;
    finish(transaction, affected, request.dry_run)
}

fn finish(
    transaction: &mut Transaction,
    affected: Affected,
    dry_run: bool,
) -> Result<Affected, Error> {
    if dry_run {
        transaction.discard_changes();
    }
    Ok(Affected { dry_run, ..affected })
}

/// Runs a change, and refuses it if it affected too many rows.
async fn run(
    transaction: &Transaction,
    table: &Table,
    change: &Change<'_>,
    max_affected: Option<u64>,
) -> Result<Affected, Error> {
    let run = async {
        let statement = transaction.prepare(&change.sql).await?;
        let values = change.values.iter().map(params::from_value).collect::<Result<_, _>>()?;
        let mut collector = Collector::new(Bounds { max_rows: 0, max_bytes: 0 });
        let written = collector.write(transaction, &statement, values).await;
        let Change { data_columns, filter_columns, .. } = change;
        let rows_affected =
            written.map_err(|error| with_column(error, data_columns, filter_columns))?;
        let changed = transaction.changed_rows().await?.max(rows_affected);
        transaction.check_changed(changed, max_affected)?;
        Ok(Affected { rows_affected, cascaded: changed - rows_affected, dry_run: false })
    };
    run.await.map_err(|error: Error| visibility::of_change(transaction.rules(), table, error))
}

pub(crate) async fn create_table(
    transaction: &mut Transaction,
    request: &CreateTable,
) -> Result<Created, Error> {
    let name = &request.table_name;
    let (schema, bare) = match name.split_once('.') {
        Some((schema, bare)) => (Some(schema), bare),
        None => (None, name.as_str()),
    };
    query::create_table::check_visible(transaction.rules(), schema, bare)?;
    match catalog::table(transaction, name).await {
        Ok(table) if request.if_not_exists => {
            return Ok(Created { ddl: None, table: table.full_name(), created: false });
        }
        Ok(table) => return Err(Error::TableExists { table: table.full_name() }),
        Err(Error::UnknownTable { .. }) => {}
        Err(error) => return Err(error),
    }
    let sql_name = sql_name(transaction, name).await?;
    let ddl = query::create_table::create_table(request, Dialect::Postgres, &sql_name)?;
    if let Err(error) = transaction.connection()?.client.batch_execute(&ddl).await {
        return Err(match error.code() {
            Some(&SqlState::DUPLICATE_TABLE) => Error::TableExists { table: name.clone() },
            _ => Error::from(error).on_table(name),
        });
    }
    Ok(Created { table: name.clone(), ddl: Some(ddl), created: true })
}

/// The name of a new table in SQL: `a.b` is in the schema `a`, if that exists.
async fn sql_name(transaction: &Transaction, name: &str) -> Result<String, Error> {
    const SCHEMA: &str = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    if let Some((schema, table)) = name.split_once('.')
        && !schema.contains('\0')
        && !catalog::rows(transaction, SCHEMA, &[(&schema, Type::TEXT)]).await?.is_empty()
    {
        return Ok(format!("{}.{}", quote(schema), quote(table)));
    }
    Ok(quote(name))
}
