use crate::model::error::Error;
use crate::model::read::QueryRecords;
use crate::model::rowset::Rowset;
use crate::model::schema::Table;
use crate::model::visibility::ResultMasks;
use crate::postgres::catalog::{self, CatalogTable};
use crate::postgres::error::with_column;
use crate::postgres::params;
use crate::postgres::rows::Collector;
use crate::postgres::transaction::Transaction;
use crate::query::select::PageQuery;

pub(crate) async fn query_records(
    transaction: &mut Transaction,
    request: &QueryRecords,
) -> Result<Rowset, Error> {
    let CatalogTable { oid, table, .. } = catalog::find(transaction, &request.table_name).await?;
    let page = PageQuery::new(request, &table, transaction.limits())?;
    let masks = ResultMasks::new(page.masks.iter().copied(), transaction.rules());
    let collector = Collector::new(page.bounds).keyed_by_last(page.key_width);
    let mut collector = collector.masked_by(masks);
    let on_table = |error: Error| error.on_table(&table.full_name());
    let in_statement = |error: Error| on_table(with_column(error, &[], &page.filter_columns));
    let kept = kept_name(oid, &table, &page.sql);
    match transaction.kept_statement(&kept) {
        Some(statement) => {
            let values = params::of_values(&page.values, &statement)?;
            let read = collector.read_kept(transaction, &statement, values).await;
            if !read.map_err(in_statement)? {
                // The schema has changed since the statement was prepared.
                transaction.forget_statement(&kept);
                return Err(Error::Changing);
            }
        }
        None => {
            let statement = transaction.prepare(&page.sql).await.map_err(on_table)?;
            let values = params::of_values(&page.values, &statement)?;
            collector.read(transaction, &statement, values).await.map_err(in_statement)?;
            transaction.keep_statement(&kept, statement);
        }
    }
    let last = collector.take_key();
    page.complete(collector.finish()?, last, request, transaction.limits())
}

/// The name of a kept statement: its text, the table, and the types of its columns. A prepared statement keeps the types
/// of its parameters, and the table that its text meant.
fn kept_name(oid: u32, table: &Table, sql: &str) -> String {
    let types: Vec<&str> = table.columns.iter().map(|column| &*column.declared_type).collect();
    format!("{oid} ({}) {sql}", types.join(", "))
}
