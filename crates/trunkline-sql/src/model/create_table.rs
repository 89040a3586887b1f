//! The request that creates a table, and its result.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

/// Creates a table.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTable {
    /// The new table's name: any text that is not empty and does not begin with "sqlite_".
    pub table_name: String,
    /// The columns, in the order of the table, each with its type ("TEXT") or with type and constraints
    /// ("INTEGER PRIMARY KEY AUTOINCREMENT", "TEXT NOT NULL DEFAULT 'new'", or an object).
    pub schema: Columns,
    /// The column of the primary key, or several. Omitted if `schema` has it.
    #[serde(default)]
    pub primary_key: Option<PrimaryKey>,
    /// True to leave a table of this name unchanged, instead of failing. Default false.
    #[serde(default)]
    pub if_not_exists: bool,
}

/// The columns of a primary key.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a column name or a list of them")]
pub enum PrimaryKey {
    /// One.
    Column(String),
    /// Several, in this order.
    Columns(Vec<String>),
}

/// A table that was created, or was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Created {
    /// The table's name.
    pub table: String,
    /// The statement that created it.
    pub ddl: Option<String>,
    /// False if a table or view of this name was there, and `if_not_exists` let it be.
    pub created: bool,
}

/// The columns of a new table, in the order in which the caller wrote them: a JSON object is a map for
/// most readers, and would come out sorted.
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
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnOptions {
    /// INTEGER, INT(n), BIGINT(n), MEDIUMINT(n), SMALLINT(n), TINYINT(n), REAL, DOUBLE, FLOAT,
    /// NUMERIC(p,s), DECIMAL(p,s), TEXT, VARCHAR(n), CHAR(n), NVARCHAR(n), NCHAR(n), CLOB, UUID, BLOB,
    /// BOOLEAN, BOOL, DATE, TIME, DATETIME, TIMESTAMP or JSON; the numbers may be left out.
    #[serde(rename = "type")]
    pub column_type: String,
    /// True if NULL cannot be stored. Default false.
    #[serde(default)]
    pub not_null: bool,
    /// True if no two rows may have the same value. Default false.
    #[serde(default)]
    pub unique: bool,
    /// The value for records without the column: a number, a string, a boolean, or one of the
    /// keywords CURRENT_TIMESTAMP, CURRENT_DATE and CURRENT_TIME.
    #[serde(default)]
    #[schemars(schema_with = "default_schema")]
    pub default: Option<Json>,
    /// True if the column is the primary key; a key of several columns goes to the table's `primary_key`.
    /// Default false.
    #[serde(default)]
    pub primary_key: bool,
}

fn default_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["null", "boolean", "number", "string"] })
}

impl JsonSchema for Columns {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Columns".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let options = generator.subschema_for::<ColumnOptions>();
        let text = "A type, then constraints if wanted: PRIMARY KEY, AUTOINCREMENT, NOT NULL, UNIQUE, \
                    DEFAULT with a number, a 'string', NULL or CURRENT_TIMESTAMP. Types are those of the \
                    object form.";
        json_schema!({
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "anyOf": [{ "type": "string", "description": text }, options],
            },
        })
    }
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
