use serde_json::Value as Json;
use tokio::time::Instant;
use tokio_postgres::types::Type;

use crate::model::error::Error;
use crate::model::profile::{ColumnProfile, EXAMPLES, MAX_TEXT, ProfileTable, TableProfile, cells};
use crate::model::rowset::Bounds;
use crate::model::schema::{Column, Dialect, TableKind};
use crate::postgres::catalog::{self, CatalogTable};
use crate::postgres::rows::Collector;
use crate::postgres::transaction::Transaction;

/// The part of the timeout after which no further column is read, in percent.
const TIME: u32 = 70;

pub(crate) async fn profile_table(
    transaction: &mut Transaction,
    request: &ProfileTable,
) -> Result<TableProfile, Error> {
    let started = Instant::now();
    let sample = request.sample()?;
    let time = transaction.limits().timeout * TIME / 100;
    let found = catalog::find(transaction, &request.table_name).await?;
    let table = &found.table;
    let sampling = sampling(transaction, &found, sample).await?;
    let categories = categories(transaction, found.oid).await?;
    let (mut rows, mut columns, mut skipped) = (0, Vec::new(), Vec::new());
    for column in request.columns(table)? {
        if started.elapsed() >= time {
            skipped.push(column.name.clone());
            continue;
        }
        let category = categories.iter().find(|(name, _)| *name == column.name);
        let order = category.map_or(Order::None, |(_, category)| Order::of(category, column));
        let source = format!(
            "SELECT {} AS v FROM {}{sampling}",
            order.value(&value_of(column, table.dialect)),
            table.source(),
        );
        let profile = profile(transaction, column, &source, order).await;
        let (read, profile) = profile.map_err(|error| error.on_table(&table.full_name()))?;
        rows = read;
        columns.push(profile);
    }
    // The sample of pages may have fewer rows.
    let sampled = rows >= sample || sampling.contains("TABLESAMPLE");
    Ok(TableProfile { table: table.full_name(), rows, sampled, columns, skipped })
}

/// The comparison of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// By their type.
    Native,
    /// By their type; values are texts of any length.
    Text,
    /// By their text.
    AsText,
    /// Only for equality, of their text.
    None,
}

impl Order {
    /// From `pg_type.typcategory`. Not all types of the others have an order and the aggregates min and max.
    fn of(category: &str, column: &Column) -> Self {
        match category {
            // Its values have no binary format that is read, and are texts.
            "N" if column.value_type() == "money" => Self::Text,
            "N" | "D" | "T" | "E" | "I" => Self::Native,
            "S" => Self::Text,
            "B" => Self::AsText,
            _ if column.value_type() == "uuid" => Self::AsText,
            _ => Self::None,
        }
    }

    fn value(self, column: &str) -> String {
        match self {
            Self::Native | Self::Text => column.to_owned(),
            Self::AsText | Self::None => format!("{column}::text"),
        }
    }

    /// A value in a form of bounded size.
    fn shown(self, value: &str) -> String {
        match self {
            Self::Native => value.to_owned(),
            _ => format!("left({value}::text, {})", MAX_TEXT + 1),
        }
    }
}

/// The values of a column, without their domain: the aggregates of enums do not accept one.
fn value_of(column: &Column, dialect: Dialect) -> String {
    let value = dialect.column(&column.name);
    match &column.base_type {
        Some(base_type) => format!("{value}::{base_type}"),
        None => value,
    }
}

/// The clauses that limit the rows of a table.
async fn sampling(
    transaction: &Transaction,
    found: &CatalogTable,
    sample: u64,
) -> Result<String, Error> {
    const ESTIMATE: &str =
        "SELECT c.reltuples::float8 FROM pg_catalog.pg_class AS c WHERE c.oid = $1";
    let rows = catalog::rows(transaction, ESTIMATE, &[(&found.oid, Type::OID)]).await?;
    let estimate: f64 = rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(-1.0);
    let stores_pages = matches!(found.table.kind, TableKind::Table | TableKind::MaterializedView);
    // A little more, since pages have different numbers of rows. Repeatable, so that all columns have the same rows.
    let percent = 110.0 * sample as f64 / estimate;
    if stores_pages && percent > 0.0 && percent < 100.0 {
        return Ok(format!(" TABLESAMPLE SYSTEM ({percent:.6}) REPEATABLE (1) LIMIT {sample}"));
    }
    Ok(format!(" LIMIT {sample}"))
}

/// The categories of the types of all columns.
async fn categories(transaction: &Transaction, oid: u32) -> Result<Vec<(String, String)>, Error> {
    const CATEGORIES: &str = "\
        SELECT a.attname::text, t.typcategory::text FROM pg_catalog.pg_attribute AS a \
        JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
        WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped";
    let rows = catalog::rows(transaction, CATEGORIES, &[(&oid, Type::OID)]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// The number of rows, and the profile of a column.
async fn profile(
    transaction: &mut Transaction,
    column: &Column,
    source: &str,
    order: Order,
) -> Result<(u64, ColumnProfile), Error> {
    if column.mask.is_some() {
        let counts = format!("SELECT count(*), count(v) FROM ({source}) AS s");
        let counts = cells_of(transaction, &counts).await?;
        let [count, values] = [0, 1].map(|index| {
            let count = counts.first().and_then(|row| row.get(index)?.as_u64());
            count.unwrap_or(0)
        });
        return Ok((count, ColumnProfile::masked(column, count.saturating_sub(values))));
    }
    let [min, max] = match order {
        Order::None => ["NULL", "NULL"].map(str::to_owned),
        order => ["min(v)", "max(v)"].map(|value| order.shown(value)),
    };
    let groups = format!(
        "WITH s AS MATERIALIZED ({source}), \
         g AS MATERIALIZED (SELECT v, count(*) AS n FROM s WHERE v IS NOT NULL GROUP BY v)"
    );
    let summary = format!(
        "{groups} SELECT (SELECT count(*) FROM s) - coalesce(sum(n)::int8, 0), count(*), {min}, {max}, \
         (SELECT count(*) FROM s) FROM g"
    );
    let summary = cells_of(transaction, &summary).await?;
    let [summary] = summary.as_slice() else { return Err(Error::ReaderLost) };
    let shown = order.shown("v");
    let examples = format!("{groups} SELECT {shown}, n FROM g ORDER BY n DESC, v LIMIT {EXAMPLES}");
    let examples = cells_of(transaction, &examples).await?;
    let rows = summary.get(4).and_then(Json::as_u64).unwrap_or(0);
    Ok((rows, ColumnProfile::of(column, summary, examples)))
}

async fn cells_of(transaction: &mut Transaction, sql: &str) -> Result<Vec<Vec<Json>>, Error> {
    let max_bytes = transaction.limits().max_bytes;
    let mut collector = Collector::new(Bounds { max_rows: EXAMPLES, max_bytes });
    let statement = transaction.prepare(sql).await?;
    collector.read(transaction, &statement, Vec::new()).await?;
    Ok(cells(&collector.finish()?))
}
