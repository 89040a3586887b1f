//! Declarations of tables and columns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Error;
use super::table_name;
use super::visibility::{Mask, ResultMasks, VisibilityRules};

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
    /// A stored query with a stored result.
    MaterializedView,
    /// A table with partitions.
    Partitioned,
    /// A table of another server.
    Foreign,
}

/// The SQL of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Refuses a list of more columns than a table can have, before any of them is looked up. The maximum is that of
    /// PostgreSQL, and for SQLite that of the connections of this crate.
    pub(crate) fn check_names(self, argument: &'static str, count: usize) -> Result<(), Error> {
        let max = match self {
            Self::Sqlite => 500,
            Self::Postgres => 1_600,
        };
        if count <= max {
            return Ok(());
        }
        let message = format!("`{argument}` has {count} columns; a table has at most {max}");
        Err(Error::OverLimit { message })
    }
}

/// An existing table, with the names in the spelling of the schema.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) dialect: Dialect,
    /// The schema of PostgreSQL that contains it, unless the search path does.
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
    pub(crate) kind: TableKind,
    /// Whether rows have no number. Always true for PostgreSQL.
    pub(crate) without_rowid: bool,
    pub(crate) columns: Vec<Column>,
    /// Names of further columns, which are not valid UTF-8.
    pub(crate) unreadable_columns: Vec<String>,
    /// The columns of a key that identifies each row, for PostgreSQL.
    pub(crate) unique_key: Vec<String>,
    /// The constraints, if columns are masked.
    pub(crate) constraints: Vec<Constraint>,
}

/// The columns of a constraint. A failure depends on the values of all of them.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    pub(crate) kind: ConstraintKind,
    pub(crate) columns: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstraintKind {
    /// It compares values with those of other rows: a key, a unique index, an exclusion constraint. The columns include
    /// those of expressions and of the condition.
    Unique,
    /// A key of one column, which NULL never violates.
    UniqueColumn,
    /// It checks the values of one row.
    Check,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Empty if none is declared.
    pub(crate) declared_type: String,
    /// The type of the values, if the declared one is a domain of PostgreSQL.
    pub(crate) base_type: Option<String>,
    pub(crate) not_null: bool,
    pub(crate) default: Option<String>,
    /// Position in the primary key from 1, or 0.
    pub(crate) key_place: u32,
    pub(crate) visibility: Visibility,
    /// The form in which callers receive its values.
    pub(crate) mask: Option<Mask>,
}

impl Column {
    /// The type of the values: the declared one, or that which it restricts.
    pub(crate) fn value_type(&self) -> &str {
        self.base_type.as_deref().unwrap_or(&self.declared_type)
    }

    /// Whether SQLite converts integers of this column to floating-point numbers, by its rules for declared types.
    pub(crate) fn is_real(&self) -> bool {
        let declared = self.declared_type.to_ascii_uppercase();
        let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
        has(&["REAL", "FLOA", "DOUB"]) && !has(&["INT", "CHAR", "CLOB", "TEXT", "BLOB"])
    }
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
    /// The name by which PostgreSQL's table is listed.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only PostgreSQL has schemas")
    )]
    pub(crate) fn full_name(&self) -> String {
        table_name::listed(self.schema.as_deref(), &self.name)
    }

    /// The column of this name. Case is ignored, unless a column has exactly this name.
    pub(crate) fn column(&self, name: &str) -> Result<&Column, Error> {
        let exact = self.columns.iter().find(|column| column.name == name);
        let mut similar = self.columns.iter().filter(|c| c.name.eq_ignore_ascii_case(name));
        match (exact, similar.next(), similar.next()) {
            (Some(column), _, _) | (None, Some(column), None) => Ok(column),
            _ => Err(Error::UnknownColumn {
                table: self.name.clone(),
                column: name.to_owned(),
                candidates: nearest_names(name, self.columns.iter().map(|column| &column.name)),
            }),
        }
    }

    /// Sets the masks of the columns, given the schemas and names under which the rules know the table. Generated
    /// columns of a table with masked columns are masked too, since their values can be computed from those.
    pub(crate) fn mask_columns<'n>(
        &mut self,
        rules: &VisibilityRules,
        names: impl Iterator<Item = (Option<&'n str>, &'n str)> + Clone,
    ) {
        for column in &mut self.columns {
            let masks =
                names.clone().map(|(schema, name)| rules.mask_of(schema, name, &column.name));
            column.mask = masks.flatten().min();
        }
        if self.has_masks() {
            self.mask_generated();
        }
    }

    /// Masks the generated columns, which can be computed of masked ones.
    pub(crate) fn mask_generated(&mut self) {
        let is_stored = |column: &&mut Column| {
            matches!(column.visibility, Visibility::Normal | Visibility::Hidden)
        };
        let generated = self.columns.iter_mut().filter(|column| !is_stored(column));
        generated.for_each(|column| column.mask = Some(Mask::Null));
    }

    /// Whether a column is masked, or not known.
    fn is_closed(&self, name: &str) -> bool {
        self.columns.iter().find(|column| column.name == name).is_none_or(|c| c.mask.is_some())
    }

    /// A masked column whose values the error of a constraint would show, if `column` of an existing or a new row is
    /// set. An update sets `updated` and keeps the values of the other columns.
    pub(crate) fn revealed_by(
        &self,
        column: &str,
        is_null: bool,
        updated: Option<&[&str]>,
    ) -> Option<&str> {
        let revealed = |constraint: &'_ Constraint| {
            let is_computed = |name: &String| {
                let found = self.columns.iter().find(|column| column.name == *name);
                found.is_some_and(|column| column.visibility != Visibility::Normal)
            };
            // Generated columns are computed from any others.
            let names: Vec<&str> = match constraint.columns.iter().any(is_computed) {
                true => self.columns.iter().map(|column| column.name.as_str()).collect(),
                false => constraint.columns.iter().map(String::as_str).collect(),
            };
            let is_known = |name: &str| match (constraint.kind, updated) {
                (ConstraintKind::Check, Some(updated)) => updated.contains(&name),
                (ConstraintKind::Check, None) => true,
                (ConstraintKind::UniqueColumn, _) => is_null,
                (ConstraintKind::Unique, _) => false,
            };
            let mut masked = names.iter().filter(|name| self.is_closed(name) && !is_known(name));
            let first = names.contains(&column).then(|| masked.next())??;
            let found = self.columns.iter().find(|column| column.name == *first);
            // One of a child table, or without privileges.
            Some(found.map_or("", |column| column.name.as_str()))
        };
        self.constraints.iter().find_map(revealed)
    }

    /// Whether columns are masked.
    pub(crate) fn has_masks(&self) -> bool {
        self.columns.iter().any(|column| column.mask.is_some())
    }

    /// The masks of the columns that `SELECT *` gives.
    pub(crate) fn visible_masks(&self, rules: &VisibilityRules) -> ResultMasks {
        ResultMasks::new(self.visible_columns().map(|column| column.mask), rules)
    }

    /// A column whose values callers may compare: not a masked one.
    pub(crate) fn open_column(&self, name: &str, argument: &'static str) -> Result<&Column, Error> {
        let column = self.column(name)?;
        match column.mask {
            None => Ok(column),
            Some(_) => Err(Error::Masked {
                table: self.name.clone(),
                column: column.name.clone(),
                argument: Some(argument),
            }),
        }
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

    /// Whether a column of the primary key is masked. The row number can be another name of it.
    pub(crate) fn is_key_masked(&self) -> bool {
        self.columns.iter().any(|column| column.key_place > 0 && column.mask.is_some())
    }

    /// The columns that identify each row of the table, if there are such columns and none is masked.
    pub(crate) fn row_identity(&self) -> Vec<&str> {
        let is_masked = |name: &str| self.column(name).is_ok_and(|column| column.mask.is_some());
        if self.is_key_masked() || self.unique_key.iter().any(|name| is_masked(name)) {
            return Vec::new();
        }
        if self.dialect == Dialect::Postgres {
            return self.unique_key.iter().map(String::as_str).collect();
        }
        if self.kind == TableKind::Table && self.without_rowid {
            let key = self.primary_key();
            return key.into_iter().map(|column| column.name.as_str()).collect();
        }
        self.row_number().into_iter().collect()
    }

    /// A name of the row number, if the table has row numbers and columns do not hide all names.
    pub(crate) fn row_number(&self) -> Option<&'static str> {
        if self.kind != TableKind::Table || self.without_rowid {
            return None;
        }
        // A column of this name hides the row number.
        let is_free = |name: &&str| self.column(name).is_err();
        ["rowid", "_rowid_", "oid"].into_iter().find(is_free)
    }
}

/// The maximum number of names in a suggestion.
const MAX_NAMES: usize = 3;

/// The maximum length of compared names. The cost of a comparison is quadratic.
const MAX_COMPARED: usize = 64;

/// The known names that are similar to `wanted`, nearest first.
pub(crate) fn nearest_names<'n>(
    wanted: &str,
    known: impl Iterator<Item = &'n String>,
) -> Vec<String> {
    let wanted = folded(wanted);
    // About one error in three letters.
    let tolerance = wanted.len().div_ceil(3);
    let mut near: Vec<(usize, &String)> = known
        .filter_map(|name| {
            let folded = folded(name);
            let distance = strsim::generic_levenshtein(&wanted, &folded);
            let close = distance <= tolerance || contains(&folded, &wanted);
            close.then_some((distance, name))
        })
        .collect();
    near.sort();
    near.into_iter().take(MAX_NAMES).map(|(_, name)| name.clone()).collect()
}

fn folded(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).take(MAX_COMPARED).collect()
}

/// Whether one name contains the other, and the shorter one has at least three letters.
fn contains(name: &[char], wanted: &[char]) -> bool {
    let (short, long) = if name.len() < wanted.len() { (name, wanted) } else { (wanted, name) };
    short.len() >= 3 && long.windows(short.len()).any(|part| part == short)
}

#[cfg(test)]
mod tests {
    #[test]
    fn suggestions() {
        let known = ["customer", "orders", "lineitem", "part", "partsupp", "x"].map(str::to_owned);
        for (wanted, expected) in [
            ("Custmer", vec!["customer"]),
            ("order", vec!["orders"]),
            ("line_item", vec!["lineitem"]),
            ("parts", vec!["part", "partsupp"]),
            ("zzz", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(super::nearest_names(wanted, known.iter()), expected, "{wanted}");
        }
    }
}
