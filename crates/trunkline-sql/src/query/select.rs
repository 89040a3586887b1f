use super::filter::Filter;
use super::identifier::quote;
use super::order;
use crate::model::cursor::{self, Fingerprint, Position};
use crate::model::error::Error;
use crate::model::read::QueryRecords;
use crate::model::schema::Table;
use crate::model::value::Value;

/// A query for one page of a table's rows.
pub(crate) struct PageQuery {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
    /// The number of columns at the end of each row that are its key, and not in the result.
    pub(crate) key_width: usize,
    /// The number of rows before the page.
    pub(crate) offset: u64,
    fingerprint: Fingerprint,
}

impl PageQuery {
    /// The query for at most `max_rows` rows, plus one that shows whether more exist.
    pub(crate) fn new(request: &QueryRecords, table: &Table, max_rows: u64) -> Result<Self, Error> {
        let columns = columns(table, request.columns.as_deref())?;
        let filter = match &request.filters {
            Some(filters) => Filter::all(table, filters)?,
            None => Filter::default(),
        };
        let order = order::by(table, request.order_by.as_ref())?;

        let key: Vec<&str> = order.key().collect();
        let mut sql = select(columns.iter().copied().chain(key.iter().copied()), &table.name);
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
        sql.push_str(&format!(" LIMIT ?{} OFFSET ?{}", values.len() + 1, values.len() + 2));
        values.push(integer("limit", max_rows.saturating_add(1))?);
        values.push(integer("offset", skipped)?);
        Ok(Self { sql, values, key_width: key.len(), offset, fingerprint })
    }

    /// The cursor of the next page, after `row_count` rows of this one, the last of which has this key.
    pub(crate) fn next_cursor(&self, row_count: u64, key: Option<Vec<Value>>) -> String {
        let key = key.filter(|key| !key.is_empty());
        Position::cursor(self.offset.saturating_add(row_count), key, self.fingerprint)
    }
}

/// The beginning of a query for columns of a table: `SELECT … FROM …`.
pub(crate) fn select<'n>(columns: impl Iterator<Item = &'n str>, table: &str) -> String {
    let columns: Vec<String> = columns.map(quote).collect();
    format!("SELECT {} FROM {}", columns.join(", "), quote(table))
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
            one.split(',').map(|name| column_name(table, name.trim())).collect()
        }
        Some(names) => names.iter().map(|name| column_name(table, name)).collect(),
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
