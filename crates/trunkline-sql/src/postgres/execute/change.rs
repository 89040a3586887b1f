use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use crate::model::change::{Affected, DeleteRecord, UpdateRecord};
use crate::model::create_table::{CreateTable, Created};
use crate::model::error::Error;
use crate::model::rowset::Bounds;
use crate::model::schema::{Dialect, Table};
use crate::model::table_name::{self, TableName};
use crate::postgres::error::with_column;
use crate::postgres::rows::Collector;
use crate::postgres::transaction::Transaction;
use crate::postgres::{catalog, params, visibility};
use crate::query;
use crate::query::change::Change;

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
        let Change { data_columns, filter_columns, .. } = change;
        let with_column = |error| with_column(error, data_columns, filter_columns);
        let values = params::of_values(&change.values, &statement).map_err(with_column)?;
        let mut collector = Collector::new(Bounds { max_rows: 0, max_bytes: 0 });
        let written = collector.write(transaction, &statement, values).await;
        let rows_affected = written.map_err(with_column)?;
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
    let (schema, bare) = new_table(transaction, name).await?;
    let schema = schema.as_deref();
    query::create_table::check_visible(transaction.rules(), schema, &bare)?;
    match catalog::table(transaction, name).await {
        Ok(table) if request.if_not_exists => {
            return Ok(Created { ddl: None, table: table.full_name(), created: false });
        }
        Ok(table) => return Err(Error::TableExists { table: table.full_name() }),
        Err(Error::UnknownTable { .. }) => {}
        Err(error) => return Err(error),
    }
    let ddl = query::create_table::create_table(request, Dialect::Postgres, schema, &bare)?;
    let listed = table_name::listed(schema, &bare);
    if let Err(error) = transaction.connection()?.client.batch_execute(&ddl).await {
        return Err(match error.code() {
            Some(&SqlState::DUPLICATE_TABLE) => Error::TableExists { table: listed },
            _ => Error::from(error).on_table(&listed),
        });
    }
    Ok(Created { table: listed, ddl: Some(ddl), created: true })
}

/// The schema and the name of a new table. `a.b` is in the schema `a`, if that exists.
async fn new_table(
    transaction: &Transaction,
    name: &str,
) -> Result<(Option<String>, String), Error> {
    const SCHEMA: &str = "\
        SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1 AND coalesce(current_database() = $2, TRUE)";
    if name.contains('\0') {
        return Ok((None, name.to_owned()));
    }
    let Some(spelled) = TableName::of_postgres(name) else { return Ok((None, name.to_owned())) };
    let TableName { database, schema: Some(schema), name: bare } = spelled else {
        return Ok((None, spelled.name));
    };
    let params: &[(&(dyn ToSql + Sync), Type)] = &[(&schema, Type::TEXT), (&database, Type::TEXT)];
    let exists = !catalog::rows(transaction, SCHEMA, params).await?.is_empty();
    // In quotes, the name is that of SQL, and PostgreSQL reports that the schema is missing.
    let is_in_schema = exists || name.contains('"');
    Ok(if is_in_schema { (Some(schema), bare) } else { (None, name.to_owned()) })
}
