//! Requests that read rows, and statements in SQL.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

use super::arguments::{self, DistinctKeys};
use super::rowset::{RowNumber, Rowset};

/// Reads rows of one table or view, without SQL.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryRecords {
    /// The table's name, in either case.
    pub table_name: String,
    /// Conditions by column, all of which must hold. A value means equality, null means IS NULL, and an
    /// object holds operators: {"age": {"gte": 18, "lt": 65}, "city": {"in": ["Oslo", "Rome"]}}.
    #[serde(default, deserialize_with = "DistinctKeys::optional_object")]
    #[schemars(schema_with = "arguments::optional_filters")]
    pub filters: Option<Map<String, Json>>,
    /// The columns to return, in this order. Default all.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Maximum number of rows. The server has a limit too, 1,000 by default.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count")]
    pub limit: Option<u64>,
    /// Rows to skip. Not together with `cursor`.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count")]
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

/// An order of rows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected text such as \"city, age DESC\", or a list of columns")]
pub enum OrderBy {
    /// Column names with commas between them, each with `ASC` or `DESC` if wanted: `"city, age DESC"`.
    Text(String),
    /// One term after the other.
    Terms(Vec<OrderTerm>),
}

/// One column of an order.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum OrderTerm {
    /// As in the text form: a column name, with `ASC` or `DESC` if wanted.
    Text(String),
    /// A column name of any form.
    Column {
        /// The column's name, in either case.
        column: String,
        /// Whether the largest comes first. Default false.
        #[serde(default)]
        desc: bool,
    },
}

/// How rows are written in the text for language models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Lines of values with tabs between them, under a line of column names: less than half of the JSON.
    #[default]
    Tsv,
    /// The JSON of the result.
    Json,
}

/// Runs one SQL statement.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawQuery {
    /// Exactly one SQLite statement, at most 100,000 bytes. Put values into `params`, not into the text.
    pub query: String,
    /// Values for the statement's parameters: a list for ?, or an object for :name.
    #[serde(default)]
    #[schemars(schema_with = "arguments::params")]
    pub params: Option<Params>,
    /// False to let the statement change the database: it then runs in a separate transaction, if the
    /// server allows changes at all. Default true.
    #[serde(default = "yes")]
    pub read_only: bool,
    /// Maximum number of rows. The server has a limit too, 1,000 by default.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count")]
    pub max_rows: Option<u64>,
    /// Longest time in milliseconds. The server has a limit too, 5,000 by default.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::milliseconds")]
    pub timeout_ms: Option<u64>,
    /// How rows are written in the text for language models: "tsv" (default) or "json". The structured
    /// result is the same for both.
    #[serde(default)]
    pub format: Option<Format>,
    /// Most rows that a statement with "read_only": false may insert, update and delete, those that foreign
    /// keys and triggers change included; if there are more, the call fails and changes nothing. Default
    /// 1,000, or what the server is set to.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count")]
    pub max_affected: Option<u64>,
}

fn yes() -> bool {
    true
}

impl RawQuery {
    /// A reading statement without parameters, under the server's limits.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            params: None,
            read_only: true,
            max_rows: None,
            timeout_ms: None,
            format: None,
            max_affected: None,
        }
    }
}

/// Values for the parameters of a statement: scalars, or the objects of a [`Rowset`](crate::Rowset), such
/// as `{"$blob": base64}`.
#[derive(Clone, Debug)]
pub enum Params {
    /// By position, for `?`, `?1`, and named parameters in the order of their first use.
    ByPosition(Vec<Json>),
    /// By name, for `:name`, `@name` and `$name`. The sign may be left out.
    ByName(Map<String, Json>),
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match DistinctKeys::deserialize(deserializer)?.0 {
            Json::Array(values) => Ok(Self::ByPosition(values)),
            Json::Object(values) => Ok(Self::ByName(values)),
            _ => Err(D::Error::custom(
                "expected a list of values for ?, or an object of values for :name",
            )),
        }
    }
}

/// The result of a statement: its rows, or how many it changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("type" = "object"))]
pub enum RawOutcome {
    /// The rows of a statement that gives rows, also of one that changes them (`RETURNING`).
    Rows(Rowset),
    /// The changes of a statement without rows.
    Changed(Changed),
}

/// The changes of a statement without rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changed {
    /// Number of rows that were inserted, updated or deleted, without those that triggers and foreign keys
    /// changed. 0 for a change of the schema.
    pub rows_affected: u64,
    /// The row number of the last row that it inserted. Null if it inserted none, or one without a number.
    pub last_insert_rowid: Option<RowNumber>,
}

impl RawOutcome {
    /// The rows, if the statement gives rows.
    pub fn into_rows(self) -> Option<Rowset> {
        match self {
            Self::Rows(rowset) => Some(rowset),
            Self::Changed(_) => None,
        }
    }
}
