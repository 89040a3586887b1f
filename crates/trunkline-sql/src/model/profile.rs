//! Statistics of the values in a table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::arguments;
use super::error::Error;
use super::rowset::Rowset;
use super::schema::{Column, Table};
use super::visibility::Mask;

/// Summarizes the values of each column.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileTable {
    /// The name of the table. Case is ignored.
    #[schemars(description = "Table or view name")]
    pub table_name: String,
    /// The columns. Default all.
    #[serde(default, deserialize_with = "arguments::optional_names")]
    #[schemars(schema_with = "arguments::names", description = "Default all")]
    pub columns: Option<Vec<String>>,
    /// Maximum number of rows that are read, 1 to 1,000,000. Default 50,000. SQLite reads the first rows. PostgreSQL reads
    /// a random sample of the pages of a larger table, if it knows its size, and otherwise the first rows.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(
        schema_with = "arguments::count",
        description = "Maximum rows to read. Default 50000"
    )]
    pub sample_rows: Option<u64>,
}

/// The profile of a table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TableProfile {
    /// The table.
    pub table: String,
    /// Number of rows that were read.
    pub rows: u64,
    /// Whether the table may have more rows than were read.
    pub sampled: bool,
    /// The columns, in the requested order.
    pub columns: Vec<ColumnProfile>,
    /// Columns for which the time was not sufficient.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

/// The profile of a column. Texts longer than 200 characters are abbreviated, and a BLOB is a text with its size.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ColumnProfile {
    /// The name.
    pub name: String,
    /// The declared type.
    #[serde(rename = "type")]
    pub declared_type: Option<String>,
    /// The mask of the values, which are then neither compared nor shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Mask")]
    pub masked: Option<Mask>,
    /// Number of NULLs.
    pub nulls: u64,
    /// Number of different values. Missing if they are not compared: masked values, and too large ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct: Option<u64>,
    /// The smallest value. Null if all values are NULL, or the type has no order.
    #[schemars(schema_with = "arguments::value")]
    pub min: Json,
    /// The largest value.
    #[schemars(schema_with = "arguments::value")]
    pub max: Json,
    /// The most frequent values; three at most.
    pub examples: Vec<ExampleValue>,
}

/// A value with its frequency.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExampleValue {
    /// The value.
    #[schemars(schema_with = "arguments::value")]
    pub value: Json,
    /// Number of rows with this value, if values were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// Number of example values of a column.
pub(crate) const EXAMPLES: u64 = 3;

/// Maximum length of a text in a profile, in characters.
pub(crate) const MAX_TEXT: usize = 200;

const DEFAULT_SAMPLE: u64 = 50_000;
const MAX_SAMPLE: u64 = 1_000_000;

impl ProfileTable {
    /// Requests the profile of all columns.
    pub fn new(table_name: impl Into<String>) -> Self {
        Self { table_name: table_name.into(), ..Self::default() }
    }

    /// The maximum number of rows to read.
    pub(crate) fn sample(&self) -> Result<u64, Error> {
        let rows = self.sample_rows.unwrap_or(DEFAULT_SAMPLE);
        if !(1..=MAX_SAMPLE).contains(&rows) {
            let reason = format!("it must be from 1 to {MAX_SAMPLE}");
            return Err(Error::argument("sample_rows", reason));
        }
        Ok(rows)
    }

    /// The requested columns of the table.
    pub(crate) fn columns<'t>(&self, table: &'t Table) -> Result<Vec<&'t Column>, Error> {
        table.dialect.check_names("columns", self.columns.as_ref().map_or(0, Vec::len))?;
        match self.columns.as_deref() {
            None => Ok(table.visible_columns().collect()),
            Some([]) => {
                Err(Error::argument("columns", "the list is empty; omit it for all columns"))
            }
            Some(names) => names.iter().map(|name| table.column(name)).collect(),
        }
    }
}

impl ColumnProfile {
    /// The profile of a masked column.
    pub(crate) fn masked(column: &Column, nulls: u64) -> Self {
        Self::of(column, &[nulls.into()], Vec::new())
    }

    /// A profile from a row of `nulls`, `distinct`, `min` and `max`, and from rows of examples with their counts.
    pub(crate) fn of(column: &Column, summary: &[Json], examples: Vec<Vec<Json>>) -> Self {
        let number = |index: usize| summary.get(index).and_then(Json::as_u64);
        let value = |index: usize| shortened(summary.get(index).cloned().unwrap_or_default());
        let example = |row: Vec<Json>| {
            let mut row = row.into_iter();
            let value = shortened(row.next()?);
            Some(ExampleValue { value, count: row.next().and_then(|count| count.as_u64()) })
        };
        Self {
            name: column.name.clone(),
            declared_type: Some(column.declared_type.clone()).filter(|name| !name.is_empty()),
            masked: column.mask,
            nulls: number(0).unwrap_or(0),
            distinct: number(1),
            min: value(2),
            max: value(3),
            examples: examples.into_iter().filter_map(example).collect(),
        }
    }
}

/// The rows of an internal query.
pub(crate) fn cells(rowset: &Rowset) -> Vec<Vec<Json>> {
    serde_json::from_str(rowset.rows.get()).unwrap_or_default()
}

fn shortened(value: Json) -> Json {
    match value {
        Json::String(text) => match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => text.into(),
        },
        other => other,
    }
}
