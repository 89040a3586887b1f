//! Tables and columns as the database declares them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Error;
use super::nearest::nearest_names;

/// The kind of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TableKind {
    /// A table that stores rows.
    Table,
    /// A stored query.
    View,
    /// A virtual table, such as a full-text index.
    Virtual,
}

/// A table that exists, under the schema's spelling.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) kind: TableKind,
    pub(crate) without_rowid: bool,
    pub(crate) columns: Vec<Column>,
    /// Names of further columns, which are not valid UTF-8.
    pub(crate) unreadable_columns: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Empty if none is declared.
    pub(crate) declared_type: String,
    pub(crate) not_null: bool,
    pub(crate) default: Option<String>,
    /// Place in the primary key from 1, or 0.
    pub(crate) key_place: u32,
    pub(crate) visibility: Visibility,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    Normal,
    /// A virtual table's column that `SELECT *` leaves out.
    Hidden,
    GeneratedVirtual,
    GeneratedStored,
}

impl Table {
    /// The column of this name, in either case.
    pub(crate) fn column(&self, name: &str) -> Result<&Column, Error> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            Error::UnknownColumn {
                table: self.name.clone(),
                column: name.to_owned(),
                candidates: nearest_names(name, self.columns.iter().map(|column| &column.name)),
            }
        })
    }

    /// The columns that `SELECT *` gives.
    pub(crate) fn visible_columns(&self) -> impl Iterator<Item = &Column> {
        let is_visible = |column: &&Column| column.visibility != Visibility::Hidden;
        self.columns.iter().filter(is_visible)
    }

    /// The columns of the primary key, in its order.
    pub(crate) fn primary_key(&self) -> Vec<&Column> {
        let mut key: Vec<&Column> = self.columns.iter().filter(|c| c.key_place > 0).collect();
        key.sort_by_key(|column| column.key_place);
        key
    }

    /// The columns that identify each row of the table, if there are such columns.
    pub(crate) fn row_identity(&self) -> Vec<&str> {
        if self.kind == TableKind::Table && self.without_rowid {
            let key = self.primary_key();
            return key.into_iter().map(|column| column.name.as_str()).collect();
        }
        self.row_number().into_iter().collect()
    }

    /// A name by which the row number can be read, if it has one and columns take not all its names.
    pub(crate) fn row_number(&self) -> Option<&'static str> {
        if self.kind != TableKind::Table || self.without_rowid {
            return None;
        }
        // A column of this name hides the row number.
        let is_free = |name: &&str| self.column(name).is_err();
        ["rowid", "_rowid_", "oid"].into_iter().find(is_free)
    }
}
