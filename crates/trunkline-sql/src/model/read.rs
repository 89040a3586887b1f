//! Requests that read rows, and statements in SQL.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

use super::arguments::{self, DistinctKeys};
use super::exact_json;
use super::rowset::{RowNumber, Rowset};

/// Reads rows of one table or view, without SQL.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryRecords {
    /// The name of the table. Case is ignored.
    #[schemars(description = "Table or view name")]
    pub table_name: String,
    /// Conditions by column, all of which must hold. A value means equality, null means IS NULL, and an object
    /// contains operators: `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `like`, `is_null`.
    ///
    /// `{"age": {"gte": 18, "lt": 65}, "city": {"in": ["Oslo", "Rome"]}}`
    #[serde(default, deserialize_with = "arguments::optional_object")]
    #[schemars(
        schema_with = "arguments::by_column",
        description = "{column: value}, or operators eq, ne, gt, gte, lt, lte, in, like, is_null: \
                       {\"age\": {\"gte\": 18}, \"city\": {\"in\": [\"Oslo\", \"Rome\"]}}"
    )]
    pub filters: Option<Map<String, Json>>,
    /// The columns to return, in this order. Default all.
    #[serde(default, deserialize_with = "arguments::optional_names")]
    #[schemars(schema_with = "arguments::names", description = "Default all")]
    pub columns: Option<Vec<String>>,
    /// Maximum number of rows. Default [`QueryLimits::default_rows`](crate::QueryLimits), 100; at most
    /// [`QueryLimits::max_rows`](crate::QueryLimits).
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count", description = "Maximum rows. Default 100")]
    pub limit: Option<u64>,
    /// Number of rows to skip. Not allowed together with `cursor`.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count", description = "Rows to skip")]
    pub offset: Option<u64>,
    /// The order of the rows. Rows that are equal in it are in the order of their row numbers.
    #[serde(default)]
    #[schemars(schema_with = "arguments::text", description = "For example: city, age DESC")]
    pub order_by: Option<OrderBy>,
    /// The `next_cursor` of the previous page; only `limit` may differ from that request. When rows are inserted or
    /// deleted meanwhile, pages of a table neither skip nor repeat other rows; pages of a view or a virtual table may.
    #[serde(default)]
    #[schemars(schema_with = "arguments::text", description = "next_cursor of the previous page")]
    pub cursor: Option<String>,
    /// The form of rows in the text for language models. Default `tsv`. Does not affect the structured result.
    #[serde(default)]
    #[schemars(schema_with = "arguments::formats", description = "Default tsv")]
    pub format: Option<Format>,
}

impl QueryRecords {
    /// Requests the first rows of a table.
    pub fn new(table_name: impl Into<String>) -> Self {
        Self { table_name: table_name.into(), ..Self::default() }
    }
}

/// An order of rows. As JSON, a string, an object, or a list of them. A string may be the JSON text of the others.
#[derive(Clone, Debug)]
pub enum OrderBy {
    /// Column names separated by commas, each with an optional `ASC` or `DESC`: `"city, age DESC"`.
    Text(String),
    /// A list of terms.
    Terms(Vec<OrderTerm>),
}

/// One column of an order.
#[derive(Clone, Debug)]
pub enum OrderTerm {
    /// As in the text form: a column name with an optional `ASC` or `DESC`.
    Text(String),
    /// A column name of any form. As JSON: `{"column": "age", "desc": true}`, or with `"direction": "desc"`.
    Column {
        /// The name of the column. Case is ignored.
        column: String,
        /// Whether the order is descending. Default false.
        desc: bool,
    },
}

impl<'de> Deserialize<'de> for OrderBy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut order = DistinctKeys::deserialize(deserializer)?.0;
        // Other text is the name of a column.
        if let Json::String(text) = &order
            && text.trim_start().starts_with(['[', '{'])
            && let Ok(DistinctKeys(value)) = serde_json::from_str(text)
        {
            order = value;
        }
        match order {
            Json::String(text) => Ok(Self::Text(text)),
            Json::Array(terms) => {
                let terms: Result<_, _> = terms.into_iter().map(OrderTerm::of).collect();
                terms.map(Self::Terms).map_err(D::Error::custom)
            }
            term @ Json::Object(_) => {
                let term = OrderTerm::of(term).map_err(D::Error::custom)?;
                Ok(Self::Terms(vec![term]))
            }
            _ => Err(D::Error::custom(EXPECTED_ORDER)),
        }
    }
}

const EXPECTED_ORDER: &str = "expected text such as \"city, age DESC\", or a list of terms such as \
                              {\"column\": \"age\", \"direction\": \"desc\"}";

impl OrderTerm {
    /// Reads a term of a list.
    fn of(json: Json) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Members {
            column: String,
            desc: Option<bool>,
            direction: Option<String>,
        }
        let members = match json {
            Json::String(text) => return Ok(Self::Text(text)),
            json @ Json::Object(_) => serde_json::from_value::<Members>(json),
            _ => return Err(EXPECTED_ORDER.to_owned()),
        };
        let Members { column, desc, direction } = members.map_err(|error| error.to_string())?;
        let is_descending = match direction.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None => None,
            Some("asc" | "ascending") => Some(false),
            Some("desc" | "descending") => Some(true),
            Some(_) => return Err("\"direction\" must be \"asc\" or \"desc\"".to_owned()),
        };
        match (desc, is_descending) {
            (Some(desc), Some(direction)) if desc != direction => {
                Err("\"desc\" contradicts \"direction\"".to_owned())
            }
            (desc, direction) => {
                Ok(Self::Column { column, desc: desc.or(direction).unwrap_or(false) })
            }
        }
    }
}

/// The form of rows in the text for language models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A line of column names and lines of values, separated by tabs: less than half as long as JSON. Long values are
    /// abbreviated.
    #[default]
    Tsv,
    /// The JSON of the result.
    Json,
}

/// Runs one SQL statement.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawQuery {
    /// One SQLite statement of at most 100,000 bytes. Pass values in `params`, not in the text.
    #[schemars(description = "One statement; use ? for values")]
    pub query: String,
    /// Values of the statement's parameters: a list for `?`, or an object for `:name`.
    #[serde(default)]
    #[schemars(schema_with = "arguments::params", description = "Values for ?")]
    pub params: Option<Params>,
    /// Whether the statement may only read. If false, it may change the database and runs in a separate transaction,
    /// provided that the database is writable. Default true.
    #[serde(default = "yes")]
    #[schemars(schema_with = "arguments::flag", description = "Set false to change data")]
    pub read_only: bool,
    /// Maximum number of rows. Default [`QueryLimits::default_rows`](crate::QueryLimits), 100; at most
    /// [`QueryLimits::max_rows`](crate::QueryLimits).
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::count", description = "Default 100")]
    pub max_rows: Option<u64>,
    /// Timeout in milliseconds, at most that of the server (5,000 by default).
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::milliseconds", description = "Timeout. Default 5000")]
    pub timeout_ms: Option<u64>,
    /// The form of rows in the text for language models. Default `tsv`. Does not affect the structured result.
    #[serde(default)]
    #[schemars(schema_with = "arguments::formats", description = "Default tsv")]
    pub format: Option<Format>,
    /// Maximum number of rows that a statement with `read_only: false` inserts, updates and deletes, including those
    /// that foreign keys and triggers change. Beyond it, the call fails and changes nothing. Default:
    /// [`QueryLimits::max_affected`](crate::QueryLimits).
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(
        schema_with = "arguments::count",
        description = "Maximum rows to change, else nothing is changed. Default 1000"
    )]
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
    /// By name, for `:name`, `@name` and `$name`. The sign is optional.
    ByName(Map<String, Json>),
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match exact_json::read_values(deserializer)? {
            Json::Array(values) => Ok(Self::ByPosition(values)),
            Json::Object(values) => Ok(Self::ByName(values)),
            _ => Err(D::Error::custom(
                "expected a list of values for ?, or an object of values for :name",
            )),
        }
    }
}

/// The result of a statement: its rows, or the number of rows that it changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(extend("type" = "object"))]
pub enum RawOutcome {
    /// The rows of a statement that returns rows, including one that changes them (`RETURNING`).
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
    /// The row number of the last inserted row. Null if no row with a number was inserted.
    pub last_insert_rowid: Option<RowNumber>,
}

impl RawOutcome {
    /// The rows, if the statement returns rows.
    pub fn into_rows(self) -> Option<Rowset> {
        match self {
            Self::Rows(rowset) => Some(rowset),
            Self::Changed(_) => None,
        }
    }
}
