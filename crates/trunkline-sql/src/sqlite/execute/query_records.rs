use std::time::Instant;

use crate::model::error::Error;
use crate::model::read::QueryRecords;
use crate::model::rowset::Rowset;
use crate::model::visibility::ResultMasks;
use crate::query::select::PageQuery;
use crate::sqlite::collect::Collector;
use crate::sqlite::session::Session;
use crate::sqlite::value;

pub(crate) fn query_records(
    session: &mut Session<'_>,
    request: &QueryRecords,
) -> Result<Rowset, Error> {
    let started = Instant::now();
    let config = session.config();
    let table = session.table(&request.table_name)?;
    let page = PageQuery::new(request, &table, &config.limits)?;
    let masks = ResultMasks::new(page.masks.iter().copied(), &config.rules);
    let rows = Collector::new(page.bounds, started).keyed_by_last(page.key_width);
    let mut rows = rows.masked_by(masks);
    let collected = session.with_statement(&page.sql, |statement| {
        value::bind(statement, &page.values)?;
        rows.take(statement)
    });
    collected.map_err(|error| error.on_table(&table.name))?;
    let last = rows.take_key();
    page.complete(rows.finish()?, last, request, &config.limits)
}
