//! Requests that change rows, and their results.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

use super::arguments;
use super::exact_json;
use super::rowset::{RowNumber, Rowset};

/// Adds records to a table, all or none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InsertRecord {
    /// The name of the table. Case is ignored.
    #[schemars(description = "Table name")]
    pub table_name: String,
    /// One record, or a list of at most 1,000: values by column name. Omitted columns get their default. Values are
    /// null, booleans (stored as 0 and 1 in SQLite), numbers, strings, or {"$blob": base64}; SQLite requires JSON as a
    /// string.
    #[schemars(
        schema_with = "arguments::records",
        description = "{column: value}, or a list of up to 1000. BLOB: {\"$blob\": base64}"
    )]
    pub data: Records,
    /// The resolution for a record that violates a UNIQUE, NOT NULL or primary key constraint. `replace` deletes the
    /// conflicting rows. Default `abort`.
    #[serde(default)]
    #[schemars(
        schema_with = "arguments::resolutions",
        description = "replace deletes conflicting rows. Default abort"
    )]
    pub on_conflict: Option<OnConflict>,
    /// Whether to return the inserted rows with all columns, or the names of the columns to return, such as generated
    /// keys and defaults. Default false.
    #[serde(default)]
    #[schemars(schema_with = "arguments::flag", description = "Return the inserted rows")]
    pub returning: Option<Returning>,
    /// Maximum number of rows that the call changes in addition to the inserted records: rows that `replace` deletes,
    /// and rows that foreign keys and triggers change. Beyond it, the call fails and inserts nothing. Default:
    /// [`QueryLimits::max_affected`](crate::QueryLimits).
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(
        schema_with = "arguments::count",
        description = "Maximum further rows to change by replace, foreign keys and triggers. Default 1000"
    )]
    pub max_affected: Option<u64>,
}

impl InsertRecord {
    /// Adds one record.
    pub fn new(table_name: impl Into<String>, record: Map<String, Json>) -> Self {
        Self {
            table_name: table_name.into(),
            data: Records::One(record),
            on_conflict: None,
            returning: None,
            max_affected: None,
        }
    }

    pub(crate) fn records(&self) -> &[Map<String, Json>] {
        match &self.data {
            Records::One(record) => std::slice::from_ref(record),
            Records::Several(records) => records,
        }
    }
}

/// One record or several.
#[derive(Clone, Debug)]
pub enum Records {
    /// One.
    One(Map<String, Json>),
    /// Several, which are inserted in this order and in one transaction.
    Several(Vec<Map<String, Json>>),
}

impl<'de> Deserialize<'de> for Records {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let record = |json: &Json| match exact_json::member(json).into_owned() {
            Json::Object(record) => Some(record),
            _ => None,
        };
        let records = match exact_json::read_values(deserializer)? {
            Json::Array(list) => list.iter().map(record).collect::<Option<_>>().map(Self::Several),
            json => record(&json).map(Self::One),
        };
        records.ok_or_else(|| {
            let expected = "expected an object of values by column name, or a list of such objects";
            D::Error::custom(expected)
        })
    }
}

/// The resolution for a record that violates a constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// The call fails, and inserts nothing at all.
    #[default]
    Abort,
    /// The record is skipped.
    Ignore,
    /// The conflicting rows are deleted.
    Replace,
}

/// The columns of the inserted rows to return.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected true, false or a list of column names")]
pub enum Returning {
    /// All columns, or no rows.
    All(bool),
    /// One column, or `*` for all.
    Column(String),
    /// These columns, in this order.
    Columns(Vec<String>),
}

/// The result of an insertion.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Inserted {
    /// Number of inserted rows.
    pub rows_affected: u64,
    /// The row number of the last inserted row, which is its INTEGER PRIMARY KEY if the table has one.
    /// Null if nothing was inserted, or the table has no row numbers.
    pub id: Option<RowNumber>,
    /// The inserted rows, if `returning` requests them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rowset>,
}

/// Changes the rows of a table that match filters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRecord {
    /// The name of the table. Case is ignored.
    #[schemars(description = "Table name")]
    pub table_name: String,
    /// The rows to change, by conditions as in [`QueryRecords::filters`](crate::QueryRecords). Empty filters match
    /// every row and require `all`.
    #[serde(deserialize_with = "arguments::object")]
    #[schemars(schema_with = "arguments::by_column", description = "As in query_records")]
    pub filters: Map<String, Json>,
    /// The new values by column name; at least one. Values are null, booleans (stored as 0 and 1), numbers,
    /// strings, or {"$blob": base64}.
    #[serde(deserialize_with = "arguments::record")]
    #[schemars(schema_with = "arguments::changes", description = "New values: {column: value}")]
    pub data: Map<String, Json>,
    /// Whether empty filters match every row. Default false.
    #[serde(default)]
    #[schemars(
        schema_with = "arguments::flag",
        description = "Required to change every row with empty filters"
    )]
    pub all: bool,
    /// Maximum number of rows to change, including those that foreign keys and triggers change. Beyond it, the call
    /// fails and changes nothing. Default: [`QueryLimits::max_affected`](crate::QueryLimits).
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(
        schema_with = "arguments::count",
        description = "Maximum rows to change, else nothing is changed. Default 1000"
    )]
    pub max_affected: Option<u64>,
    /// Whether to return the exact number of rows and change nothing. Default false.
    #[serde(default)]
    #[schemars(schema_with = "arguments::flag", description = "Count the rows and change nothing")]
    pub dry_run: bool,
}

/// Deletes the rows of a table that match filters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRecord {
    /// The name of the table. Case is ignored.
    #[schemars(description = "Table name")]
    pub table_name: String,
    /// The rows to delete, by conditions as in [`QueryRecords::filters`](crate::QueryRecords). Empty filters match
    /// every row and require `all`.
    #[serde(deserialize_with = "arguments::object")]
    #[schemars(schema_with = "arguments::by_column", description = "As in query_records")]
    pub filters: Map<String, Json>,
    /// Whether empty filters match every row. Default false.
    #[serde(default)]
    #[schemars(
        schema_with = "arguments::flag",
        description = "Required to delete every row with empty filters"
    )]
    pub all: bool,
    /// Maximum number of rows to delete, including those that foreign keys and triggers change. Beyond it, the call
    /// fails and deletes nothing. Default: [`QueryLimits::max_affected`](crate::QueryLimits).
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(
        schema_with = "arguments::count",
        description = "Maximum rows to change, else nothing is deleted. Default 1000"
    )]
    pub max_affected: Option<u64>,
    /// Whether to return the exact number of rows and delete nothing. Default false.
    #[serde(default)]
    #[schemars(schema_with = "arguments::flag", description = "Count the rows and delete nothing")]
    pub dry_run: bool,
}

/// The result of an update or a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Affected {
    /// Number of rows of the table that matched the filters and were changed.
    pub rows_affected: u64,
    /// Number of further rows that foreign keys and triggers changed. Absent if zero. Rows of virtual tables
    /// (full-text indexes) are not counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub cascaded: u64,
    /// Whether this was a dry run, which changed nothing.
    pub dry_run: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
