//! Tables and columns as the database declares them.

mod nearest;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::name;
use crate::session::Session;

/// What a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TableKind {
    /// A table with rows of its own.
    Table,
    /// A stored query.
    View,
    /// A table that a module answers for, such as a full-text index.
    Virtual,
}

impl TableKind {
    pub(crate) fn from_sqlite(name: &str) -> Self {
        match name {
            "view" => Self::View,
            "virtual" => Self::Virtual,
            _ => Self::Table,
        }
    }
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
    /// Looks a table or view up, as SQLite does: ASCII letters match in either case.
    pub(crate) fn find(session: &mut Session<'_>, name: &str) -> Result<Self, Error> {
        let found = session.rows(
            "SELECT name, type, wr FROM pragma_table_list \
             WHERE schema = 'main' AND name = ?1 COLLATE NOCASE",
            &[name],
            |row| {
                let found: (String, String, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(found)
            },
        )?;
        let Some((name, kind, without_rowid)) = found.into_iter().next() else {
            return Err(unknown_table(session, name)?);
        };
        Self::load(session, name, TableKind::from_sqlite(&kind), without_rowid)
    }

    /// Reads the columns of a table whose other facts are known.
    pub(crate) fn load(
        session: &mut Session<'_>,
        name: String,
        kind: TableKind,
        without_rowid: bool,
    ) -> Result<Self, Error> {
        let found = columns(session, &name).map_err(|error| error.on_table(&name))?;
        let mut table =
            Self { name, kind, without_rowid, columns: Vec::new(), unreadable_columns: Vec::new() };
        for column in found {
            match column {
                Ok(column) => table.columns.push(column),
                Err(name) => table.unreadable_columns.push(name),
            }
        }
        Ok(table)
    }

    /// The column of this name, in either case.
    pub(crate) fn column(&self, name: &str) -> Result<&Column, Error> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            Error::UnknownColumn {
                table: self.name.clone(),
                column: name.to_owned(),
                candidates: nearest::to(name, self.columns.iter().map(|column| &column.name)),
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

    /// Names by which each row of the table can be told from the others, if it has such names.
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

/// The columns of a table; of those whose name is not valid UTF-8, the name as it can be shown.
fn columns(session: &mut Session<'_>, table: &str) -> Result<Vec<Result<Column, String>>, Error> {
    session.rows(
        "SELECT name, type, \"notnull\", dflt_value, pk, hidden FROM pragma_table_xinfo(?1)",
        &[table],
        |row| {
            let name = match name::read(row, 0)? {
                Ok(name) => name,
                Err(shown) => return Ok(Err(shown)),
            };
            Ok(Ok(Column {
                name,
                declared_type: name::some_text(row, 1)?,
                not_null: row.get(2)?,
                default: name::text(row, 3)?,
                key_place: row.get(4)?,
                visibility: match row.get::<_, u32>(5)? {
                    1 => Visibility::Hidden,
                    2 => Visibility::GeneratedVirtual,
                    3 => Visibility::GeneratedStored,
                    _ => Visibility::Normal,
                },
            }))
        },
    )
}

fn unknown_table(session: &mut Session<'_>, name: &str) -> Result<Error, Error> {
    let names = session
        .names("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow'")?;
    Ok(Error::UnknownTable { table: name.to_owned(), candidates: nearest::to(name, names.iter()) })
}
