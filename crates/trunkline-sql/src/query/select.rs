use serde_json::Map;

use super::filter::Filter;
use super::order;
use crate::model::cursor::{self, Fingerprint, Position};
use crate::model::error::Error;
use crate::model::limits::QueryLimits;
use crate::model::read::QueryRecords;
use crate::model::rowset::{Bounds, Rowset, TruncatedBy};
use crate::model::schema::{Dialect, Table};
use crate::model::value::Value;
use crate::model::visibility::Mask;

/// A query for one page of a table's rows.
pub(crate) struct PageQuery<'t> {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
    /// The columns that the first values are compared with.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only errors of PostgreSQL have a number")
    )]
    pub(crate) filter_columns: Vec<&'t str>,
    /// The maximum size of the result.
    pub(crate) bounds: Bounds,
    /// The number of columns at the end of each row that are its key, and not in the result.
    pub(crate) key_width: usize,
    /// The masks of the columns of the result.
    pub(crate) masks: Vec<Option<Mask>>,
    /// The number of rows before the page.
    offset: u64,
    fingerprint: Fingerprint,
    /// Whether a row is found again by its number in the order, without a key.
    has_stable_order: bool,
}

impl<'t> PageQuery<'t> {
    /// The query for one row more than the result can have, which shows whether more rows exist.
    pub(crate) fn new(
        request: &QueryRecords,
        table: &'t Table,
        limits: &QueryLimits,
    ) -> Result<Self, Error> {
        let max_rows = request.limit.unwrap_or(limits.default_rows).min(limits.max_rows);
        let columns = columns(table, request.columns.as_deref())?;
        let filter = match &request.filters {
            Some(filters) => Filter::all(table, filters, Vec::new())?,
            None => Filter::all(table, &Map::new(), Vec::new())?,
        };
        let order = order::by(table, request.order_by.as_ref())?;

        let key: Vec<&str> = order.key().collect();
        let dialect = table.dialect;
        let keys = key.iter().map(|name| dialect.key(name));
        let mask = |name: &&str| table.column(name).ok().and_then(|column| column.mask);
        let masks = columns.iter().map(mask).collect();
        let columns = columns.into_iter().map(|name| dialect.column(name));
        let mut sql = select(columns.chain(keys), table);
        sql.push_str(&filter.sql);
        let clause = order.clause();
        let mut values = filter.values;
        // A cursor belongs to the statement so far, with its values.
        let parts = ["query_records", &sql, &clause, &format!("{values:?}")];
        let fingerprint = Fingerprint::of(&parts);
        let position = position(request, fingerprint)?;
        let offset = position.offset;
        let mut skipped = offset;
        if let Some(last) = position.key {
            if last.len() != key.len() {
                return Err(cursor::MALFORMED);
            }
            sql.push_str(if filter.sql.is_empty() { " WHERE " } else { " AND " });
            sql.push_str(&order.after(&last, values.len() + 1));
            values.extend(last);
            skipped = 0;
        }
        sql.push_str(&clause);
        let [limit, offset_parameter] = [1, 2].map(|next| dialect.parameter(values.len() + next));
        sql.push_str(&format!(" LIMIT {limit} OFFSET {offset_parameter}"));
        values.push(integer("limit", max_rows.saturating_add(1))?);
        values.push(integer("offset", skipped)?);
        dialect.check_count(values.len())?;
        let bounds = Bounds { max_rows, max_bytes: limits.max_bytes };
        let filter_columns = filter.columns;
        // PostgreSQL may return rows in any order.
        let has_stable_order = dialect == Dialect::Sqlite || !key.is_empty();
        let key_width = key.len();
        Ok(Self {
            sql,
            values,
            filter_columns,
            bounds,
            key_width,
            masks,
            offset,
            fingerprint,
            has_stable_order,
        })
    }

    /// Adds the cursor of the next page, given the key of the last row, and instructions for reading it.
    pub(crate) fn complete(
        &self,
        mut rowset: Rowset,
        last: Option<Vec<Value>>,
        request: &QueryRecords,
        limits: &QueryLimits,
    ) -> Result<Rowset, Error> {
        if rowset.is_first_row_too_large() {
            return Err(row_over_limit(self.offset, limits.max_bytes));
        }
        // The cursor of a page without rows would lead to the same page.
        if rowset.truncated && rowset.row_count > 0 && !self.has_stable_order {
            rowset.hint = Some(NO_KEY.to_owned());
        } else if rowset.truncated && rowset.row_count > 0 {
            rowset.next_cursor = Some(self.next_cursor(rowset.row_count, last));
        }
        let is_limit_of_caller = request.limit.is_some_and(|limit| limit <= limits.max_rows);
        if is_limit_of_caller && rowset.truncated_by == Some(TruncatedBy::Rows) {
            rowset.truncated = false;
            rowset.truncated_by = None;
        }
        if rowset.hint.is_some() {
            return Ok(rowset);
        }
        Ok(rowset.with_hint(|rowset| match rowset.next_cursor {
            Some(_) => {
                r#"repeat the call with "cursor" set to next_cursor for the next rows, or narrow "filters""#
                    .to_owned()
            }
            None => r#"raise "limit" to read rows"#.to_owned(),
        }))
    }

    /// The cursor of the next page, after `row_count` rows of this one, the last of which has this key.
    fn next_cursor(&self, row_count: u64, key: Option<Vec<Value>>) -> String {
        let key = key.filter(|key| !key.is_empty());
        Position::cursor(self.offset.saturating_add(row_count), key, self.fingerprint)
    }
}

const NO_KEY: &str = "there are more rows, but no cursor, since the table has no primary key and no unique key of \
                      columns that are NOT NULL; send \"order_by\" and \"offset\"";

/// The error of a row that exceeds the maximum size. An empty page would hide it and all later rows.
fn row_over_limit(offset: u64, max_bytes: usize) -> Error {
    Error::OverLimit {
        message: format!(
            "the row at offset {offset} alone exceeds the {max_bytes} bytes of a result; \
             select fewer \"columns\", or continue with \"offset\": {} and no cursor",
            offset.saturating_add(1)
        ),
    }
}

/// The beginning of a query for columns of a table: `SELECT … FROM …`.
pub(crate) fn select(columns: impl Iterator<Item = String>, table: &Table) -> String {
    let columns: Vec<String> = columns.collect();
    format!("SELECT {} FROM {}", columns.join(", "), table.source())
}

fn columns<'t>(table: &'t Table, wanted: Option<&[String]>) -> Result<Vec<&'t str>, Error> {
    match wanted {
        None => match table.unreadable_columns.first() {
            None => Ok(table.visible_columns().map(|c| c.name.as_str()).collect()),
            Some(shown) => Err(Error::argument(
                "columns",
                format!(
                    "column {shown:?} cannot be read, since its name is not valid UTF-8; \
                     list the other columns"
                ),
            )),
        },
        Some([]) => Err(Error::argument("columns", "the list is empty; omit it for all columns")),
        Some([all]) if all == "*" && table.column(all).is_err() => columns(table, None),
        Some([one]) if table.column(one).is_err() => {
            table.dialect.check_names("columns", one.split(',').count())?;
            one.split(',').map(|name| column_name(table, name.trim())).collect()
        }
        Some(names) => {
            table.dialect.check_names("columns", names.len())?;
            names.iter().map(|name| column_name(table, name)).collect()
        }
    }
}

fn column_name<'t>(table: &'t Table, name: &str) -> Result<&'t str, Error> {
    table.column(name).map(|column| column.name.as_str())
}

fn position(request: &QueryRecords, fingerprint: Fingerprint) -> Result<Position, Error> {
    match (&request.cursor, request.offset) {
        (None, offset) => Ok(Position::after_rows(offset.unwrap_or(0))),
        (Some(cursor), None) => Position::read(cursor, fingerprint),
        (Some(_), Some(_)) => Err(Error::argument(
            "offset",
            "it cannot be combined with `cursor`, which contains the position",
        )),
    }
}

fn integer(argument: &'static str, value: u64) -> Result<Value, Error> {
    i64::try_from(value)
        .map(Value::Integer)
        .map_err(|_| Error::argument(argument, format!("{value} is too large")))
}
