//! The request that creates a table, and its result.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use super::arguments;

/// Creates a table.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTable {
    /// The name of the new table. It must not be empty or begin with "sqlite_".
    #[schemars(description = "Table name")]
    pub table_name: String,
    /// The columns, in the order of the table, each with its type (`TEXT`) or with type and constraints
    /// (`INTEGER PRIMARY KEY AUTOINCREMENT`, `TEXT NOT NULL DEFAULT 'new'`, or [`ColumnOptions`]).
    #[schemars(
        schema_with = "arguments::definitions",
        description = "Column definitions: {\"id\": \"INTEGER PRIMARY KEY\", \"name\": \"TEXT NOT NULL DEFAULT ''\"}"
    )]
    pub schema: Columns,
    /// The columns of the primary key, unless `schema` declares it.
    #[serde(default)]
    #[schemars(schema_with = "arguments::names", description = "Columns of a composite key")]
    pub primary_key: Option<PrimaryKey>,
    /// Whether an existing table of this name is left unchanged. Otherwise it is an error. Default false.
    #[serde(default)]
    #[schemars(schema_with = "arguments::flag", description = "Leave an existing table unchanged")]
    pub if_not_exists: bool,
}

/// The columns of a primary key.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a column name or a list of them")]
pub enum PrimaryKey {
    /// One.
    Column(String),
    /// Several, in this order.
    Columns(Vec<String>),
}

/// The result of creating a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Created {
    /// The table's name.
    pub table: String,
    /// The statement that created it.
    pub ddl: Option<String>,
    /// False if a table or view of this name existed and was left unchanged.
    pub created: bool,
}

/// The columns of a new table, in the order of the JSON object.
#[derive(Clone, Debug, Default)]
pub struct Columns(pub Vec<(String, ColumnSpec)>);

/// The definition of a column.
#[derive(Clone, Debug)]
pub enum ColumnSpec {
    /// A type, then constraints: `TEXT NOT NULL DEFAULT 'new'`.
    Text(String),
    /// The same as an object.
    Options(ColumnOptions),
}

/// A column as an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnOptions {
    /// INTEGER, INT(n), BIGINT(n), MEDIUMINT(n), SMALLINT(n), TINYINT(n), REAL, DOUBLE, FLOAT,
    /// NUMERIC(p,s), DECIMAL(p,s), TEXT, VARCHAR(n), CHAR(n), NVARCHAR(n), NCHAR(n), CLOB, UUID, BLOB,
    /// BOOLEAN, BOOL, DATE, TIME, DATETIME, TIMESTAMP or JSON. The numbers are optional.
    #[serde(rename = "type")]
    pub column_type: String,
    /// Whether the column rejects NULL. Default false.
    #[serde(default)]
    pub not_null: bool,
    /// Whether values must be unique. Default false.
    #[serde(default)]
    pub unique: bool,
    /// The value for records without the column: a number, a string, a boolean, or one of the
    /// keywords CURRENT_TIMESTAMP, CURRENT_DATE and CURRENT_TIME.
    #[serde(default)]
    pub default: Option<Json>,
    /// Whether the column is the primary key. A key of several columns is set by [`CreateTable::primary_key`].
    /// Default false.
    #[serde(default)]
    pub primary_key: bool,
}

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ColumnsVisitor)
    }
}

struct ColumnsVisitor;

impl<'de> Visitor<'de> for ColumnsVisitor {
    type Value = Columns;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of columns with their types")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Columns, A::Error> {
        let mut columns = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            let spec = map.next_value();
            let spec = spec.map_err(|error| A::Error::custom(format!("column {name:?}: {error}")));
            columns.push((name, spec?));
        }
        Ok(Columns(columns))
    }
}

impl<'de> Deserialize<'de> for ColumnSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpecVisitor)
    }
}

/// Not serde's untagged form, whose only message is that nothing matched.
struct SpecVisitor;

impl<'de> Visitor<'de> for SpecVisitor {
    type Value = ColumnSpec;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a type such as \"TEXT\", or an object with \"type\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ColumnSpec, E> {
        Ok(ColumnSpec::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ColumnSpec, A::Error> {
        ColumnOptions::deserialize(MapAccessDeserializer::new(map)).map(ColumnSpec::Options)
    }
}
