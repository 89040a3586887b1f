//! Requests for the tables of a database and for their declarations, with the results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments;
use super::rowset::Rowset;
use super::schema::TableKind;
use super::visibility::Mask;

/// Lists tables and views, in the order of their names.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTables {
    /// A pattern of SQL's `LIKE` for names: `%` matches any text, `_` any character.
    #[serde(default)]
    #[schemars(schema_with = "arguments::text", description = "LIKE pattern for names")]
    pub pattern: Option<String>,
    /// The kind of the tables.
    #[serde(default)]
    #[schemars(schema_with = "arguments::kinds", description = "Only this kind")]
    pub kind: Option<TableKind>,
    /// The `next_cursor` of the previous page.
    #[serde(default)]
    #[schemars(schema_with = "arguments::text", description = "next_cursor of the previous page")]
    pub cursor: Option<String>,
}

/// One page of tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableList {
    /// At most 200 tables, without SQLite's internal tables and the shadow tables of virtual ones.
    pub tables: Vec<TableSummary>,
    /// Names that are not valid UTF-8, with U+FFFD for invalid bytes; at most 200. Such tables cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// The cursor of the next page, if there is one. Opaque.
    pub next_cursor: Option<String>,
}

/// A table in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableSummary {
    /// The name as the schema spells it.
    pub name: String,
    /// The kind of the table.
    pub kind: TableKind,
    /// Number of columns. Null if SQLite cannot open the table: a virtual table with an unknown module, a view of a
    /// missing table.
    pub columns: Option<usize>,
    /// Estimated number of rows: from the last `ANALYZE`, or from the span of its row numbers. Null if neither
    /// exists.
    pub row_estimate: Option<u64>,
    /// The comment, in PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Describes one table or view.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeTable {
    /// The name of the table. Case is ignored.
    #[schemars(description = "Table or view name")]
    pub table_name: String,
    /// Number of sample rows, 0 to 5. Default 0.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::sample_rows", description = "Rows to show. Default 0")]
    pub sample_rows: Option<u64>,
}

/// The declaration of a table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TableDescription {
    /// The name as the schema spells it.
    pub name: String,
    /// The kind of the table.
    pub kind: TableKind,
    /// The comment, in PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// In the declared order.
    pub columns: Vec<ColumnDescription>,
    /// The columns of the primary key, in its order. Empty without a primary key.
    pub primary_key: Vec<String>,
    /// References to other tables.
    pub foreign_keys: Vec<ForeignKey>,
    /// Indexes, those of constraints included.
    pub indexes: Vec<Index>,
    /// Triggers on the table.
    pub triggers: Vec<Trigger>,
    /// Names of columns, indexes and triggers that are not valid UTF-8, with U+FFFD for invalid bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// The statement that created it.
    pub ddl: Option<String>,
    /// Sample rows, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Rowset>,
}

/// The declaration of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ColumnDescription {
    /// The name as the schema spells it.
    pub name: String,
    /// The declared type. SQLite does not force values to have it.
    #[serde(rename = "type")]
    pub declared_type: Option<String>,
    /// The type that a domain restricts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_type: Option<String>,
    /// The conditions of a domain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// The values of an enum; at most 200.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Whether NULL can be stored.
    pub nullable: bool,
    /// The SQL of the default value.
    pub default: Option<String>,
    /// Whether the value is computed, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
    /// The mask of its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Mask")]
    pub masked: Option<Mask>,
    /// The comment, in PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// When a computed column is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Generated {
    /// When it is read.
    Virtual,
    /// When its row is written.
    Stored,
    /// From a sequence by default.
    Identity,
    /// From a sequence, always.
    IdentityAlways,
}

/// A reference to another table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ForeignKey {
    /// The referring columns.
    pub columns: Vec<String>,
    /// The referenced table.
    pub references_table: String,
    /// The referenced columns, in the order of `columns`. Empty for the primary key.
    pub references_columns: Vec<String>,
    /// The action on a change of the referenced key: `NO ACTION`, `CASCADE`, …
    pub on_update: String,
    /// The action on a deletion of the referenced row.
    pub on_delete: String,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Index {
    /// The name. SQLite generates it for the index of a constraint.
    pub name: String,
    /// Whether keys are unique.
    pub unique: bool,
    /// Whether it is partial: has a `WHERE` clause.
    pub partial: bool,
    /// Its columns; null represents an expression.
    pub columns: Vec<Option<String>>,
    /// The statement that created it. Null for the index of a constraint.
    pub ddl: Option<String>,
}

/// A trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trigger {
    /// Its name.
    pub name: String,
    /// The statement that created it.
    pub ddl: String,
}
