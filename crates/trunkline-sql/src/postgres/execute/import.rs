use tokio_postgres::types::Type;

use crate::model::error::Error;
use crate::model::import::{
    CHECKPOINT_TABLE, Checkpoint, CheckpointRequest, ImportBatch, Imported,
};
use crate::model::schema::Table;
use crate::postgres::error::{of_row, with_column};
use crate::postgres::transaction::Transaction;
use crate::postgres::{catalog, params, visibility};
use crate::query::change::{self, Record};
use crate::query::import::{is_of_record, record};

/// The advisory lock of the transactions that create, look for or remove [`CHECKPOINT_TABLE`], in each database: "trunkimp".
const TABLE_LOCK: i64 = 0x7472_756e_6b69_6d70;

/// Maximum number of parameters of a statement that inserts several records. The protocol allows 65,535.
const MAX_PARAMETERS: usize = 16_384;

pub(crate) async fn import_batch(
    transaction: &mut Transaction,
    batch: &ImportBatch,
) -> Result<Imported, Error> {
    let table = catalog::table(transaction, &batch.table_name).await?;
    let mut imported = Imported::default();
    let mut records = Vec::with_capacity(batch.records.len());
    for (index, one) in batch.records.iter().enumerate() {
        match record(&table, batch, one) {
            Ok(record) => records.push((index, record)),
            Err(error) if is_of_record(&error) => imported.rejected.push(one.rejected(&error)),
            Err(error) => return Err(error),
        }
    }
    // Together first. An error ends all statements since the savepoint, and each record is inserted alone.
    for group in groups(&records) {
        transaction.savepoint().await?;
        match insert(transaction, &table, batch, group).await {
            Ok(rows) => {
                transaction.release_savepoint().await?;
                imported.inserted += rows;
            }
            Err(error) if is_of_record(&error) => {
                transaction.roll_back_to_savepoint().await?;
                for one in group {
                    insert_alone(transaction, (&table, batch), one, &mut imported).await?;
                }
            }
            Err(error) => return Err(visibility::of_change(transaction.rules(), &table, error)),
        }
    }
    imported.rejected.sort_by_key(|rejected| rejected.line);
    if let Some(checkpoint) = &batch.checkpoint {
        let mut checkpoint = checkpoint.clone();
        checkpoint.rejected.extend(imported.rejected.iter().cloned());
        let sql =
            format!("UPDATE {CHECKPOINT_TABLE} SET checkpoint = $2 WHERE id = $1 RETURNING 1");
        let params: &[_] =
            &[(&checkpoint.id as _, Type::TEXT), (&text(&checkpoint) as _, Type::TEXT)];
        if catalog::rows(transaction, &sql, params).await?.len() != 1 {
            return Err(Error::argument("checkpoint", "the import has no checkpoint"));
        }
    }
    Ok(imported)
}

/// A record with its index in the batch.
type Indexed<'t> = (usize, Record<'t>);

/// Consecutive records with the same columns. Those without a value are inserted alone, since `DEFAULT VALUES` is one row.
fn groups<'r, 't>(records: &'r [Indexed<'t>]) -> impl Iterator<Item = &'r [Indexed<'t>]> {
    let same = records.chunk_by(|(_, one), (_, other)| one.columns == other.columns);
    same.flat_map(|group| {
        let width = group.first().map_or(0, |(_, record)| record.columns.len());
        group.chunks(MAX_PARAMETERS.checked_div(width).unwrap_or(1).max(1))
    })
}

async fn insert_alone(
    transaction: &Transaction,
    (table, batch): (&Table, &ImportBatch),
    one: &Indexed<'_>,
    imported: &mut Imported,
) -> Result<(), Error> {
    transaction.savepoint().await?;
    match insert(transaction, table, batch, std::slice::from_ref(one)).await {
        Ok(rows) => {
            transaction.release_savepoint().await?;
            imported.inserted += rows;
        }
        Err(error) if is_of_record(&error) => {
            transaction.roll_back_to_savepoint().await?;
            let record = batch.records.get(one.0).ok_or(Error::ReaderLost)?;
            let error = visibility::of_change(transaction.rules(), table, error);
            imported.rejected.push(record.rejected(&error));
        }
        Err(error) => return Err(visibility::of_change(transaction.rules(), table, error)),
    }
    Ok(())
}

async fn insert(
    transaction: &Transaction,
    table: &Table,
    batch: &ImportBatch,
    group: &[Indexed<'_>],
) -> Result<u64, Error> {
    let Some((_, first)) = group.first() else { return Ok(0) };
    let sql = change::insert_several(table, &first.columns, batch.on_conflict, group.len())?;
    let statement = transaction.prepare(&sql).await?;
    let values = group.iter().flat_map(|(_, record)| &record.values);
    let with_column = |error| with_column(error, &first.columns, &[]);
    let values = params::of_values(values, &statement).map_err(with_column)?;
    let inserted = transaction.connection()?.client.execute_raw(&statement, values).await;
    inserted.map_err(|error| with_column(of_row(error, &statement)))
}

pub(crate) async fn checkpoint(
    transaction: &mut Transaction,
    request: &CheckpointRequest,
) -> Result<Option<Checkpoint>, Error> {
    // Otherwise, an import could remove the table while another one inserts its first row.
    let lock = format!("SELECT pg_catalog.pg_advisory_xact_lock({TABLE_LOCK})");
    catalog::rows(transaction, &lock, &[]).await?;
    // Not by `to_regclass`, whose cache may still have a table that was removed before the lock was acquired.
    let table = format!(
        "SELECT 1 FROM pg_catalog.pg_class WHERE relname = '{CHECKPOINT_TABLE}' \
         AND pg_catalog.pg_table_is_visible(oid)"
    );
    let exists = !catalog::rows(transaction, &table, &[]).await?.is_empty();
    match request {
        CheckpointRequest::Begin(checkpoint) => {
            let table = format!(
                "CREATE TABLE IF NOT EXISTS {CHECKPOINT_TABLE} (id text PRIMARY KEY, checkpoint text NOT NULL)"
            );
            catalog::rows(transaction, &table, &[]).await?;
            if !exists {
                // Callers may see the statistics, which contain values.
                let statistics =
                    format!("ALTER TABLE {CHECKPOINT_TABLE} ALTER checkpoint SET STATISTICS 0");
                catalog::rows(transaction, &statistics, &[]).await?;
            }
            let sql = format!("INSERT INTO {CHECKPOINT_TABLE} (id, checkpoint) VALUES ($1, $2)");
            let params: &[_] =
                &[(&checkpoint.id as _, Type::TEXT), (&text(checkpoint) as _, Type::TEXT)];
            catalog::rows(transaction, &sql, params).await?;
        }
        CheckpointRequest::Read { id } if exists => {
            // Waits for the commit of a process that was killed.
            let sql = format!("SELECT checkpoint FROM {CHECKPOINT_TABLE} WHERE id = $1 FOR UPDATE");
            let found = catalog::rows(transaction, &sql, &[(id, Type::TEXT)]).await?;
            let Some(row) = found.first() else { return Ok(None) };
            return Ok(serde_json::from_str(row.try_get(0)?).ok());
        }
        CheckpointRequest::End { id } if exists => {
            let sql = format!("DELETE FROM {CHECKPOINT_TABLE} WHERE id = $1");
            catalog::rows(transaction, &sql, &[(id, Type::TEXT)]).await?;
            // In a stricter isolation level, the transaction may not see the rows of other imports.
            let unused = format!(
                "SELECT 1 WHERE current_setting('transaction_isolation') = 'read committed' \
                 AND NOT EXISTS (SELECT FROM {CHECKPOINT_TABLE})"
            );
            if !catalog::rows(transaction, &unused, &[]).await?.is_empty() {
                catalog::rows(transaction, &format!("DROP TABLE {CHECKPOINT_TABLE}"), &[]).await?;
            }
        }
        CheckpointRequest::Read { .. } | CheckpointRequest::End { .. } => {}
    }
    Ok(None)
}

fn text(checkpoint: &Checkpoint) -> String {
    serde_json::to_string(checkpoint).expect("texts and numbers serialise into memory")
}
