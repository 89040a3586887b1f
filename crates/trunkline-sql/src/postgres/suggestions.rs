//! Similar names for unknown tables and columns in statements of callers.

use super::catalog;
use super::security::names;
use super::transaction::Transaction;
use crate::model::error::Error;
use crate::model::schema::nearest_names;
use crate::model::table_name;

/// Maximum number of tables of a statement whose columns are compared.
const MAX_TABLES: usize = 10;

/// Adds similar names to an error of an unknown table or column. Other errors, and errors during the search, are ignored.
pub(super) async fn add(transaction: &Transaction, error: &mut Error, sql: &str) {
    let Error::Sql { message, offset: Some(_), table, column, candidates } = error else { return };
    let found = match (&table, &column) {
        (Some(table), _) => tables_like(transaction, table).await,
        (None, Some(column)) => columns_like(transaction, column, sql).await,
        (None, None) => return,
    };
    *candidates = found.unwrap_or_default();
    if !candidates.is_empty()
        && let Some((text, _)) = message.split_once("; hint: Perhaps you meant")
    {
        *message = text.to_owned();
    }
}

/// Whether [`add`] may find names.
pub(super) fn is_applicable(error: &Error) -> bool {
    matches!(
        error,
        Error::Sql { offset: Some(_), table: Some(_), .. }
            | Error::Sql { offset: Some(_), column: Some(_), .. }
    )
}

async fn tables_like(transaction: &Transaction, name: &str) -> Result<Vec<String>, Error> {
    let mut names = catalog::similar_tables(transaction, name).await?;
    // The statement may have a name with upper-case letters without quotes, or the other way round.
    names.retain(|known| known != name);
    Ok(names)
}

/// The similar columns of the tables whose names are in the statement.
async fn columns_like(
    transaction: &Transaction,
    name: &str,
    sql: &str,
) -> Result<Vec<String>, Error> {
    let words = names(sql);
    let tables = catalog::table_names(transaction).await?;
    let is_used = |table: &&String| {
        let bare = table_name::bare(table);
        words.contains(&bare)
    };
    let mut columns = Vec::new();
    for table in tables.iter().filter(is_used).take(MAX_TABLES) {
        let table = catalog::table(transaction, table).await?;
        columns.extend(table.columns.into_iter().map(|column| column.name));
    }
    columns.sort_unstable();
    columns.dedup();
    let mut near = nearest_names(name, columns.iter());
    near.retain(|column| column != name);
    Ok(near)
}
