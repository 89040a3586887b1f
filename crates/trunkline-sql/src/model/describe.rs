//! Requests for the tables of a database and for their declarations, with the results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments;
use super::rowset::Rowset;
use super::schema::TableKind;

/// Lists tables and views, in the order of their names.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTables {
    /// A pattern of SQL's `LIKE` that names must match: `%` is any text, `_` any character.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Only this kind.
    #[serde(default)]
    pub kind: Option<TableKind>,
    /// The `next_cursor` of an earlier reply to the same request.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// One page of tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableList {
    /// At most 200 tables. SQLite's own, and those in which virtual tables keep their content, are left
    /// out.
    pub tables: Vec<TableSummary>,
    /// Tables that are left out because their names are not valid UTF-8, with U+FFFD in place of what is not.
    /// They cannot be read here; at most 200 are named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// Where the list goes on, if it does. Opaque.
    pub next_cursor: Option<String>,
}

/// A table in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TableSummary {
    /// The name as the schema spells it.
    pub name: String,
    /// The kind of the table.
    pub kind: TableKind,
    /// Number of columns. None if SQLite cannot open it: a virtual table whose module is not
    /// compiled in, a view of a table that is gone.
    pub columns: Option<usize>,
    /// About how many rows it has: from the last `ANALYZE`, or from the span of its row numbers. None if
    /// only a count would show it, or if columns take all names of the row number.
    pub row_estimate: Option<u64>,
}

/// Describes one table or view.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeTable {
    /// The table's name, in either case.
    pub table_name: String,
    /// Number of rows to show, 0 to 5. Default 0.
    #[serde(default, deserialize_with = "arguments::optional_count")]
    #[schemars(schema_with = "arguments::sample_rows")]
    pub sample_rows: Option<u64>,
}

/// The declaration of a table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TableDescription {
    /// The name as the schema spells it.
    pub name: String,
    /// The kind of the table.
    pub kind: TableKind,
    /// In the declared order.
    pub columns: Vec<ColumnDescription>,
    /// Names of the primary key's columns, in its order. Empty if it has no primary key.
    pub primary_key: Vec<String>,
    /// References to other tables.
    pub foreign_keys: Vec<ForeignKey>,
    /// Indexes, those of constraints included.
    pub indexes: Vec<Index>,
    /// Triggers on the table.
    pub triggers: Vec<Trigger>,
    /// Columns, indexes and triggers that are left out because their names are not valid UTF-8, with U+FFFD in
    /// place of what is not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// The statement that created it.
    pub ddl: Option<String>,
    /// Its first rows, if they were asked for.
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
    /// Whether NULL can be stored.
    pub nullable: bool,
    /// The SQL of the default value.
    pub default: Option<String>,
    /// Whether the value is computed, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
}

/// When a computed column is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Generated {
    /// When it is read.
    Virtual,
    /// When its row is written.
    Stored,
}

/// A reference to another table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ForeignKey {
    /// The referring columns.
    pub columns: Vec<String>,
    /// The table that is referred to.
    pub references_table: String,
    /// Its columns, in the order of `columns`. Empty if they are its primary key.
    pub references_columns: Vec<String>,
    /// The action on a change of the referred key: `NO ACTION`, `CASCADE`, …
    pub on_update: String,
    /// The action on a deletion of the referred row.
    pub on_delete: String,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Index {
    /// Its name; SQLite makes one up for a constraint's.
    pub name: String,
    /// Whether two rows may not have the same key.
    pub unique: bool,
    /// Whether it has a `WHERE`.
    pub partial: bool,
    /// Its columns; null represents an expression.
    pub columns: Vec<Option<String>>,
    /// The statement that created it; none for a constraint's.
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
