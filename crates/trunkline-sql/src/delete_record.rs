use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::DistinctKeys;
use crate::affected::{Affected, Reach};
use crate::error::Error;
use crate::identifier::quote;
use crate::session::Session;
use crate::shapes;
use crate::whole_number;

/// Deletes the rows of a table that match filters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRecord {
    /// The table's name, in either case.
    pub table_name: String,
    /// Conditions by column, all of which must hold for a row to be deleted. A value means equality, null
    /// means IS NULL, and an object holds operators: gt, gte, lt, lte, ne, in, like, is_null. An empty
    /// object means every row, and needs "all": true.
    #[serde(deserialize_with = "DistinctKeys::object")]
    #[schemars(schema_with = "shapes::filters")]
    pub filters: Map<String, Json>,
    /// True to delete every row when `filters` is empty. Default false.
    #[serde(default)]
    pub all: bool,
    /// Most rows that may be deleted, those that foreign keys and triggers change included; if there are
    /// more, the call fails and deletes nothing. Default 1,000, or what the server is set to.
    #[serde(default, deserialize_with = "whole_number::optional")]
    #[schemars(schema_with = "shapes::count")]
    pub max_affected: Option<u64>,
    /// True to learn the exact number of rows and delete nothing. Default false.
    #[serde(default)]
    pub dry_run: bool,
}

pub(crate) fn delete_record(
    session: &mut Session<'_>,
    request: &DeleteRecord,
) -> Result<Affected, Error> {
    let DeleteRecord { all, max_affected, dry_run, .. } = *request;
    let reach = Reach { all, max_affected, dry_run };
    let table = session.table(&request.table_name)?;
    let filter = reach.filter(&table, &request.filters)?;
    let sql = format!("DELETE FROM {}{}", quote(&table.name), filter.sql);
    reach.change(session, &table, &sql, filter.values)
}
