mod order;
mod position;

use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::DistinctKeys;
use crate::cursor::{self, Fingerprint};
use crate::error::Error;
use crate::filter::Filter;
use crate::format::Format;
use crate::identifier::quote;
use crate::rowset::{Bounds, Collector, Rowset, TruncatedBy};
use crate::schema::Table;
use crate::session::Session;
use crate::shapes;
use crate::value::Value;
use crate::whole_number;

pub use order::{OrderBy, OrderTerm};
use position::Position;

/// Reads rows of one table or view, without SQL.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryRecords {
    /// The table's name, in either case.
    pub table_name: String,
    /// Conditions by column, all of which must hold. A value means equality, null means IS NULL, and an
    /// object holds operators: {"age": {"gte": 18, "lt": 65}, "city": {"in": ["Oslo", "Rome"]}}.
    #[serde(default, deserialize_with = "DistinctKeys::optional_object")]
    #[schemars(schema_with = "shapes::optional_filters")]
    pub filters: Option<Map<String, Json>>,
    /// The columns wanted, in this order. Default all.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Most rows wanted. The server has a bound of its own, 1,000 by default.
    #[serde(default, deserialize_with = "whole_number::optional")]
    #[schemars(schema_with = "shapes::count")]
    pub limit: Option<u64>,
    /// Rows to skip. Not together with `cursor`.
    #[serde(default, deserialize_with = "whole_number::optional")]
    #[schemars(schema_with = "shapes::count")]
    pub offset: Option<u64>,
    /// The order of the rows. Rows that it holds for equal are in the order of their row numbers.
    #[serde(default)]
    pub order_by: Option<OrderBy>,
    /// The `next_cursor` of an earlier reply to the same request; only `limit` may differ. When rows are inserted or
    /// deleted meanwhile, pages of a table neither skip nor repeat other rows; pages of a view or a virtual table may.
    #[serde(default)]
    pub cursor: Option<String>,
    /// How rows are written in the text for language models: "tsv" (default) or "json". The structured
    /// result is the same for both.
    #[serde(default)]
    pub format: Option<Format>,
}

impl QueryRecords {
    /// Asks for the first rows of a table.
    pub fn new(table_name: impl Into<String>) -> Self {
        Self { table_name: table_name.into(), ..Self::default() }
    }
}

/// The beginning of a query for columns of a table: `SELECT … FROM …`.
pub(crate) fn select<'n>(columns: impl Iterator<Item = &'n str>, table: &str) -> String {
    let columns: Vec<String> = columns.map(quote).collect();
    format!("SELECT {} FROM {}", columns.join(", "), quote(table))
}

pub(crate) fn query_records(
    session: &mut Session<'_>,
    request: &QueryRecords,
) -> Result<Rowset, Error> {
    let started = Instant::now();
    let table = session.table(&request.table_name)?;
    let columns = columns(&table, request.columns.as_deref())?;
    let filter = match &request.filters {
        Some(filters) => Filter::all(&table, filters)?,
        None => Filter::default(),
    };
    let order = order::by(&table, request.order_by.as_ref())?;

    let key: Vec<&str> = order.key().collect();
    let mut sql = select(columns.iter().copied().chain(key.iter().copied()), &table.name);
    sql.push_str(&filter.sql);
    let clause = order.clause();
    let mut values = filter.values;
    // The statement so far, with its values, is what a cursor belongs to.
    let fingerprint = Fingerprint::of(&["query_records", &sql, &clause, &format!("{values:?}")]);
    let position = position(request, fingerprint)?;
    let offset = position.offset;
    let mut skipped = offset;
    if let Some(last) = position.into_key() {
        if last.len() != key.len() {
            return Err(cursor::MALFORMED);
        }
        sql.push_str(if filter.sql.is_empty() { " WHERE " } else { " AND " });
        sql.push_str(&order.after(&last, values.len() + 1));
        values.extend(last.into_iter().map(Value::from));
        skipped = 0;
    }
    sql.push_str(&clause);
    let settings = session.settings();
    let max_rows = request.limit.map_or(settings.max_rows, |wanted| wanted.min(settings.max_rows));
    sql.push_str(&format!(" LIMIT ?{} OFFSET ?{}", values.len() + 1, values.len() + 2));

    // One row more than wanted, to know whether there is one.
    values.push(integer("limit", max_rows.saturating_add(1))?);
    values.push(integer("offset", skipped)?);
    let bounds = Bounds { max_rows, max_bytes: settings.max_bytes };
    let mut rows = Collector::new(bounds, started).keyed_by_last(key.len());
    let collected = session.with_statement(&sql, |statement| {
        for (index, value) in (1..).zip(&values) {
            statement.raw_bind_parameter(index, value)?;
        }
        rows.take(statement)
    });
    collected.map_err(|error| error.on_table(&table.name))?;
    let last = rows.take_key().filter(|_| !key.is_empty());
    let mut rowset = rows.finish()?;

    if rowset.lacks_room_for_one() {
        return Err(row_over_limit(offset, settings.max_bytes));
    }
    // If no row was wanted, the cursor would stay where it is for ever.
    if rowset.truncated && rowset.row_count > 0 {
        let offset = offset.saturating_add(rowset.row_count);
        rowset.next_cursor = Some(Position::cursor(offset, last, fingerprint));
    }
    let caller_wanted_no_more = request.limit.is_some_and(|limit| limit <= settings.max_rows);
    if caller_wanted_no_more && rowset.truncated_by == Some(TruncatedBy::Rows) {
        rowset.truncated = false;
        rowset.truncated_by = None;
    }
    Ok(rowset.with_hint(|rowset| match rowset.next_cursor {
        Some(_) => {
            r#"repeat the call with "cursor" set to next_cursor for the next rows"#.to_owned()
        }
        None => r#"raise "limit" to read rows"#.to_owned(),
    }))
}

fn columns<'t>(table: &'t Table, wanted: Option<&[String]>) -> Result<Vec<&'t str>, Error> {
    match wanted {
        None => match table.unreadable_columns.first() {
            None => Ok(table.visible_columns().map(|c| c.name.as_str()).collect()),
            Some(shown) => Err(Error::BadArgument {
                argument: "columns",
                reason: format!(
                    "the name of column {shown:?} is not valid UTF-8, so it cannot be read; \
                     name the other columns"
                ),
            }),
        },
        Some([]) => Err(Error::BadArgument {
            argument: "columns",
            reason: "it is empty; leave it out for all columns".to_owned(),
        }),
        Some(names) => {
            names.iter().map(|name| table.column(name).map(|column| column.name.as_str())).collect()
        }
    }
}

fn position(request: &QueryRecords, fingerprint: Fingerprint) -> Result<Position, Error> {
    match (&request.cursor, request.offset) {
        (None, offset) => Ok(Position::after_rows(offset.unwrap_or(0))),
        (Some(cursor), None) => Position::read(cursor, fingerprint),
        (Some(_), Some(_)) => Err(Error::BadArgument {
            argument: "offset",
            reason: "a cursor already says where to go on; send one of the two".to_owned(),
        }),
    }
}

/// An empty page would hide the row and all that come after it.
fn row_over_limit(offset: u64, max_bytes: usize) -> Error {
    Error::OverLimit {
        message: format!(
            "the row at offset {offset} alone has more than the {max_bytes} bytes of a result; \
             choose fewer \"columns\", or go on with \"offset\": {} and no cursor",
            offset.saturating_add(1)
        ),
    }
}

fn integer(argument: &'static str, value: u64) -> Result<Value, Error> {
    match i64::try_from(value) {
        Ok(value) => Ok(Value::Integer(value)),
        Err(_) => Err(Error::BadArgument { argument, reason: format!("{value} is too large") }),
    }
}
