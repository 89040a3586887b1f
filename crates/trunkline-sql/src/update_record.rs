use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::DistinctKeys;
use crate::affected::{Affected, Reach};
use crate::error::Error;
use crate::identifier::quote;
use crate::records::Record;
use crate::session::Session;
use crate::shapes;
use crate::whole_number;

/// Changes the rows of a table that match filters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRecord {
    /// The table's name, in either case.
    pub table_name: String,
    /// Conditions by column, all of which must hold for a row to be changed. A value means equality, null
    /// means IS NULL, and an object holds operators: gt, gte, lt, lte, ne, in, like, is_null. An empty
    /// object means every row, and needs "all": true.
    #[serde(deserialize_with = "DistinctKeys::object")]
    #[schemars(schema_with = "shapes::filters")]
    pub filters: Map<String, Json>,
    /// The new values by column name; at least one. Values are null, booleans (stored as 0 and 1), numbers,
    /// strings, or {"$blob": base64}.
    #[serde(deserialize_with = "DistinctKeys::object")]
    #[schemars(schema_with = "shapes::changes")]
    pub data: Map<String, Json>,
    /// True to change every row when `filters` is empty. Default false.
    #[serde(default)]
    pub all: bool,
    /// Most rows that may be changed, those that foreign keys and triggers change included; if there are
    /// more, the call fails and changes nothing. Default 1,000, or what the server is set to.
    #[serde(default, deserialize_with = "whole_number::optional")]
    #[schemars(schema_with = "shapes::count")]
    pub max_affected: Option<u64>,
    /// True to learn the exact number of rows and change nothing. Default false.
    #[serde(default)]
    pub dry_run: bool,
}

pub(crate) fn update_record(
    session: &mut Session<'_>,
    request: &UpdateRecord,
) -> Result<Affected, Error> {
    let UpdateRecord { all, max_affected, dry_run, .. } = *request;
    let reach = Reach { all, max_affected, dry_run };
    let table = session.table(&request.table_name)?;
    let filter = reach.filter(&table, &request.filters)?;
    let record = Record::read(&table, &request.data)?;
    if record.columns.is_empty() {
        return Err(Error::BadArgument {
            argument: "data",
            reason: "it is empty; name at least one column with its new value".to_owned(),
        });
    }
    let set: Vec<String> =
        record.columns.iter().map(|column| format!("{} = ?", quote(column))).collect();
    let sql =
        format!("UPDATE OR ABORT {} SET {}{}", quote(&table.name), set.join(", "), filter.sql);
    let mut values = record.values;
    values.extend(filter.values);
    reach.change(session, &table, &sql, values)
}
