use crate::model::error::Error;
use crate::model::export::{ExportRows, ExportSender, ExportSource, Exported};
use crate::model::file_value::ColumnKind;
use crate::model::row_encoder::RowEncoder;
use crate::model::visibility::ResultMasks;
use crate::postgres::catalog;
use crate::postgres::execute::raw_query::bind;
use crate::postgres::raw_sql;
use crate::postgres::rows;
use crate::postgres::transaction::Transaction;
use crate::query::select::select;

/// The statement of the caller was checked before.
pub(crate) async fn export_rows(
    transaction: &mut Transaction,
    request: &ExportRows,
    parts: &ExportSender,
) -> Result<Exported, Error> {
    let mut masks = ResultMasks::default();
    let mut kinds = Vec::new();
    let (statement, params) = match &request.source {
        ExportSource::Table(name) => {
            let table = catalog::table(transaction, name).await?;
            masks = table.visible_masks(transaction.rules());
            let kind = |column| ColumnKind::of(column, table.dialect);
            kinds = table.visible_columns().map(kind).collect();
            let columns = table.visible_columns();
            let sql = select(columns.map(|column| table.dialect.column(&column.name)), &table);
            (transaction.prepare(&sql).await?, None)
        }
        ExportSource::Query { sql, params } => {
            transaction.note_sql_of_caller();
            (raw_sql::prepare(transaction, sql).await?, params.as_ref())
        }
    };
    let values = bind(&statement, params)?;
    let encoder = RowEncoder::new(request.format, transaction.limits().max_export_rows);
    let encoder = encoder.masked_by(masks).of_table(kinds);
    rows::export(transaction, &statement, values, (encoder, parts)).await
}
