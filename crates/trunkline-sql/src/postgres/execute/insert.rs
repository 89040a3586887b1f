use tokio_postgres::Statement;

use crate::model::change::{InsertRecord, Inserted};
use crate::model::error::Error;
use crate::model::rowset::{Bounds, RowNumber};
use crate::model::schema::Table;
use crate::model::value::Value;
use crate::postgres::error::with_column;
use crate::postgres::rows::Collector;
use crate::postgres::transaction::Transaction;
use crate::postgres::{catalog, params, visibility};
use crate::query::change::{self, Record};
use crate::query::identifier::quote;

pub(crate) async fn insert_record(
    transaction: &mut Transaction,
    request: &InsertRecord,
) -> Result<Inserted, Error> {
    change::check_count(request.records().len(), transaction.limits().max_records)?;
    let table = catalog::table(transaction, &request.table_name).await?;
    let inserted = insert_all(transaction, request, &table).await;
    inserted.map_err(|error| visibility::of_change(transaction.rules(), &table, error))
}

async fn insert_all(
    transaction: &Transaction,
    request: &InsertRecord,
    table: &Table,
) -> Result<Inserted, Error> {
    let returning = change::returning(table, request.returning.as_ref())?;
    let number = row_number(table);
    let limits = transaction.limits();
    let bounds = Bounds { max_rows: limits.max_rows, max_bytes: limits.max_bytes };
    let mut rows = Collector::new(bounds).keyed_by_last(usize::from(number.is_some()));
    let clause = match (&returning, number) {
        (Some(returning), Some(number)) => format!("{returning}, {}::text", quote(number)),
        (None, Some(number)) => format!(" RETURNING {}::text", quote(number)),
        (returning, None) => returning.clone().unwrap_or_default(),
    };
    let mut rows_affected = 0;
    let mut prepared: Option<(Vec<&str>, Statement)> = None;
    for data in request.records() {
        let record = Record::read(table, data)?;
        let statement = match prepared.take() {
            Some((columns, statement)) if columns == record.columns => statement,
            _ => {
                let on_conflict = request.on_conflict.unwrap_or_default();
                let sql = change::insert(table, &record.columns, on_conflict)? + &clause;
                transaction.prepare(&sql).await?
            }
        };
        let with_column = |error| with_column(error, &record.columns, &[]);
        let values = params::of_values(&record.values, &statement).map_err(with_column)?;
        let inserted = rows.write(transaction, &statement, values).await;
        rows_affected += inserted.map_err(with_column)?;
        prepared = Some((record.columns, statement));
    }
    let changed = transaction.changed_rows().await?;
    transaction.check_changed(changed.saturating_sub(rows_affected), request.max_affected)?;
    let id = match rows.take_key().as_deref() {
        Some([Value::Text(number)]) => number.parse().ok().map(RowNumber),
        _ => None,
    };
    let rows = match returning {
        Some(_) => Some(rows.finish()?.with_hint(|_| {
            "all records were inserted; use query_records for the other rows".to_owned()
        })),
        None => None,
    };
    Ok(Inserted { rows_affected, id, rows })
}

/// The column that numbers the rows: the primary key, if it is one integer and not masked.
fn row_number(table: &Table) -> Option<&str> {
    match table.primary_key().as_slice() {
        [column]
            if column.mask.is_none()
                && ["smallint", "integer", "bigint"].contains(&column.declared_type.as_str()) =>
        {
            Some(&column.name)
        }
        _ => None,
    }
}
