use std::time::Instant;

use crate::model::error::Error;
use crate::model::read::QueryRecords;
use crate::model::rowset::{Rowset, TruncatedBy};
use crate::query::select::PageQuery;
use crate::sqlite::collect::{Bounds, Collector};
use crate::sqlite::session::Session;
use crate::sqlite::value;

pub(crate) fn query_records(
    session: &mut Session<'_>,
    request: &QueryRecords,
) -> Result<Rowset, Error> {
    let started = Instant::now();
    let config = session.config();
    let table = session.table(&request.table_name)?;
    let max_rows = request.limit.unwrap_or(config.default_rows).min(config.max_rows);
    let page = PageQuery::new(request, &table, max_rows)?;

    let bounds = Bounds { max_rows, max_bytes: config.max_bytes };
    let mut rows = Collector::new(bounds, started).keyed_by_last(page.key_width);
    let collected = session.with_statement(&page.sql, |statement| {
        value::bind(statement, &page.values)?;
        rows.take(statement)
    });
    collected.map_err(|error| error.on_table(&table.name))?;
    let last = rows.take_key();
    let mut rowset = rows.finish()?;

    if rowset.is_first_row_too_large() {
        return Err(row_over_limit(page.offset, config.max_bytes));
    }
    // The cursor of a page without rows would lead to the same page.
    if rowset.truncated && rowset.row_count > 0 {
        rowset.next_cursor = Some(page.next_cursor(rowset.row_count, last));
    }
    let is_limit_of_caller = request.limit.is_some_and(|limit| limit <= config.max_rows);
    if is_limit_of_caller && rowset.truncated_by == Some(TruncatedBy::Rows) {
        rowset.truncated = false;
        rowset.truncated_by = None;
    }
    Ok(rowset.with_hint(|rowset| match rowset.next_cursor {
        Some(_) => {
            r#"repeat the call with "cursor" set to next_cursor for the next rows, or narrow "filters""#
                .to_owned()
        }
        None => r#"raise "limit" to read rows"#.to_owned(),
    }))
}

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
