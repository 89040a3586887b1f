//! Requests that change rows, and their results.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

use super::arguments::{self, DistinctKeys};
use super::rowset::{RowNumber, Rowset};

/// Adds records to a table, all or none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InsertRecord {
    /// The table's name, in either case.
    pub table_name: String,
    /// One record, or a list of at most 1,000: values by column name. Columns that a record leaves out get
    /// their default. Values are null, booleans (stored as 0 and 1), numbers, strings, or
    /// {"$blob": base64}; send JSON as a string.
    #[schemars(schema_with = "arguments::records")]
    pub data: Records,
    /// The resolution for a record that violates a UNIQUE, NOT NULL or primary key constraint. "replace"
    /// deletes the conflicting rows. Default "abort".
    #[serde(default)]
    pub on_conflict: Option<OnConflict>,
    /// True to have the inserted rows in the reply with all columns, or the names of the columns wanted:
    /// generated keys and defaults, for example. Default false.
    #[serde(default)]
    pub returning: Option<Returning>,
    /// Most rows that the call may change besides the records that it inserts: rows that "replace" deletes,
    /// and those that foreign keys and triggers change; if there are more, the call fails and inserts nothing.
    /// Default 1,000, or what the server is set to.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count")]
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
        let record = |json| match json {
            Json::Object(record) => Some(record),
            _ => None,
        };
        let records = match DistinctKeys::deserialize(deserializer)?.0 {
            Json::Array(list) => {
                list.into_iter().map(record).collect::<Option<_>>().map(Self::Several)
            }
            json => record(json).map(Self::One),
        };
        records.ok_or_else(|| {
            let expected = "expected an object of values by column name, or a list of such objects";
            D::Error::custom(expected)
        })
    }
}

/// The resolution for a record that violates a constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// The call fails, and inserts nothing at all.
    #[default]
    Abort,
    /// The record is left out.
    Ignore,
    /// The rows in its way are deleted.
    Replace,
}

/// Whether the inserted rows are wanted, and which of their columns.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or a list of column names")]
pub enum Returning {
    /// All columns, or no rows.
    All(bool),
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
    /// The inserted rows, if `returning` asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rowset>,
}

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
    #[schemars(schema_with = "arguments::filters")]
    pub filters: Map<String, Json>,
    /// The new values by column name; at least one. Values are null, booleans (stored as 0 and 1), numbers,
    /// strings, or {"$blob": base64}.
    #[serde(deserialize_with = "DistinctKeys::object")]
    #[schemars(schema_with = "arguments::changes")]
    pub data: Map<String, Json>,
    /// True to change every row when `filters` is empty. Default false.
    #[serde(default)]
    pub all: bool,
    /// Most rows that may be changed, those that foreign keys and triggers change included; if there are
    /// more, the call fails and changes nothing. Default 1,000, or what the server is set to.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count")]
    pub max_affected: Option<u64>,
    /// True to learn the exact number of rows and change nothing. Default false.
    #[serde(default)]
    pub dry_run: bool,
}

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
    #[schemars(schema_with = "arguments::filters")]
    pub filters: Map<String, Json>,
    /// True to delete every row when `filters` is empty. Default false.
    #[serde(default)]
    pub all: bool,
    /// Most rows that may be deleted, those that foreign keys and triggers change included; if there are
    /// more, the call fails and deletes nothing. Default 1,000, or what the server is set to.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count")]
    pub max_affected: Option<u64>,
    /// True to learn the exact number of rows and delete nothing. Default false.
    #[serde(default)]
    pub dry_run: bool,
}

/// The result of an update or a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Affected {
    /// Number of rows of the table that matched the filters and were changed.
    pub rows_affected: u64,
    /// Number of further rows that foreign keys and triggers changed. Absent if zero. In a database with virtual
    /// tables (full-text indexes), rows of those are not among them.
    #[serde(skip_serializing_if = "is_zero")]
    pub cascaded: u64,
    /// Whether this was a dry run, which changed nothing.
    pub dry_run: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
