//! Similar names for unknown tables and columns in statements of callers.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::catalog;
use super::error::allowed_values;
use super::security::names;
use super::transaction::Transaction;
use crate::model::error::Error;
use crate::model::schema::nearest_names;
use crate::model::table_name;

/// Maximum number of tables of a statement whose columns are compared.
const MAX_TABLES: usize = 10;

/// Adds similar names to an error of an unknown table or column, and the values of an enum to one of an invalid value.
/// Other errors, and errors during the search, are ignored.
pub(super) async fn add(transaction: &Transaction, error: &mut Error, sql: &str) {
    if let Some(name) = enum_of(error) {
        let values = enum_values(transaction, name).await.unwrap_or_default();
        if let (Error::Sql { message, .. }, [_, ..]) = (error, values.as_slice()) {
            message.push_str(&allowed_values(&values));
        }
        return;
    }
    let Error::Sql { offset: Some(_), table, column, candidates, report, .. } = error else {
        return;
    };
    let found = match (&table, &column) {
        (Some(table), _) => tables_like(transaction, table).await,
        (None, Some(column)) => columns_like(transaction, column, sql).await,
        (None, None) => return,
    };
    *candidates = found.unwrap_or_default();
    if !candidates.is_empty()
        && let Some(report) = report
        && report.hint.as_ref().is_some_and(|hint| hint.starts_with("Perhaps you meant"))
    {
        report.hint = None;
    }
}

/// Whether [`add`] may find names.
pub(super) fn is_applicable(error: &Error) -> bool {
    enum_of(error).is_some()
        || matches!(
            error,
            Error::Sql { offset: Some(_), table: Some(_), .. }
                | Error::Sql { offset: Some(_), column: Some(_), .. }
        )
}

/// The enum of an invalid value: `invalid input value for enum mood: "x"`.
fn enum_of(error: &Error) -> Option<&str> {
    let Error::Sql { message, report: Some(report), .. } = error else { return None };
    let is_of_input = report.sqlstate == SqlState::INVALID_TEXT_REPRESENTATION.code();
    let name = message.strip_prefix("invalid input value for enum ").filter(|_| is_of_input)?;
    name.split_once(": \"").map(|(name, _)| name)
}

async fn enum_values(transaction: &Transaction, name: &str) -> Result<Vec<String>, Error> {
    const VALUES: &str = "\
        SELECT e.enumlabel::text FROM pg_catalog.pg_enum AS e \
        WHERE e.enumtypid = pg_catalog.to_regtype($1) ORDER BY e.enumsortorder";
    let found = transaction.look_up(VALUES, &[(&name, Type::TEXT)]).await?;
    found.iter().map(|row| Ok(catalog::shown(row, 0)?.unwrap_or_default())).collect()
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
