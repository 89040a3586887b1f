use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::name;
use crate::query_records::select;
use crate::rowset::{Bounds, Rowset, collect};
use crate::schema::{Table, TableKind, Visibility};
use crate::session::Session;
use crate::shapes;
use crate::whole_number;

/// Tells all that is declared of one table or view.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeTable {
    /// The table's name, in either case.
    pub table_name: String,
    /// How many rows to show, 0 to 5. Default 0.
    #[serde(default, deserialize_with = "whole_number::optional")]
    #[schemars(schema_with = "shapes::sample_rows")]
    pub sample_rows: Option<u64>,
}

/// A table, as it is declared.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TableDescription {
    /// As the schema spells it.
    pub name: String,
    /// What it is.
    pub kind: TableKind,
    /// In the declared order.
    pub columns: Vec<ColumnDescription>,
    /// Names of the primary key's columns, in its order. Empty if there is none.
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

/// A column, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ColumnDescription {
    /// As the schema spells it.
    pub name: String,
    /// The declared type, as it was written. SQLite does not force values to have it.
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
    /// What a change of the referred key does: `NO ACTION`, `CASCADE`, …
    pub on_update: String,
    /// What a deletion of the referred row does.
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
    /// Its columns; null stands for an expression.
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

const MAX_SAMPLE_ROWS: u64 = 5;

pub(crate) fn describe_table(
    session: &mut Session<'_>,
    request: &DescribeTable,
) -> Result<TableDescription, Error> {
    let sample_rows = request.sample_rows.unwrap_or(0);
    if sample_rows > MAX_SAMPLE_ROWS {
        return Err(Error::BadArgument {
            argument: "sample_rows",
            reason: format!("at most {MAX_SAMPLE_ROWS} rows are shown, not {sample_rows}"),
        });
    }
    let table = session.table(&request.table_name)?;
    let sample = match sample_rows {
        0 => None,
        rows => Some(sample(session, &table, rows)?),
    };
    let key = table.primary_key();
    let mut unreadable = table.unreadable_columns.clone();
    Ok(TableDescription {
        primary_key: key.iter().map(|column| column.name.clone()).collect(),
        foreign_keys: foreign_keys(session, &table.name)?,
        indexes: indexes(session, &table.name, &mut unreadable)?,
        triggers: triggers(session, &table.name, &mut unreadable)?,
        ddl: ddl(session, &table.name)?,
        columns: columns(&table),
        kind: table.kind,
        name: table.name.clone(),
        unreadable,
        sample,
    })
}

fn columns(table: &Table) -> Vec<ColumnDescription> {
    let key = table.primary_key();
    let is_row_number = |declared_type: &str| {
        key.len() == 1 && !table.without_rowid && declared_type.eq_ignore_ascii_case("INTEGER")
    };
    let describe = |column: &crate::schema::Column| ColumnDescription {
        name: column.name.clone(),
        nullable: !(column.not_null
            || (column.key_place > 0 && is_row_number(&column.declared_type))),
        declared_type: Some(column.declared_type.clone()).filter(|name| !name.is_empty()),
        default: column.default.clone(),
        generated: match column.visibility {
            Visibility::GeneratedVirtual => Some(Generated::Virtual),
            Visibility::GeneratedStored => Some(Generated::Stored),
            Visibility::Normal | Visibility::Hidden => None,
        },
    };
    table.visible_columns().map(describe).collect()
}

fn foreign_keys(session: &mut Session<'_>, table: &str) -> Result<Vec<ForeignKey>, Error> {
    let parts = session.rows(
        "SELECT id, \"from\", \"to\", \"table\", on_update, on_delete \
         FROM pragma_foreign_key_list(?1) ORDER BY id, seq",
        &[table],
        |row| {
            let key = ForeignKey {
                columns: vec![name::some_text(row, 1)?],
                references_columns: name::text(row, 2)?.into_iter().collect(),
                references_table: name::some_text(row, 3)?,
                on_update: row.get(4)?,
                on_delete: row.get(5)?,
            };
            Ok((row.get::<_, i64>(0)?, key))
        },
    )?;
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    for (id, part) in parts {
        match keys.last_mut() {
            Some((last, key)) if *last == id => {
                key.columns.extend(part.columns);
                key.references_columns.extend(part.references_columns);
            }
            _ => keys.push((id, part)),
        }
    }
    Ok(keys.into_iter().map(|(_, key)| key).collect())
}

fn indexes(
    session: &mut Session<'_>,
    table: &str,
    unreadable: &mut Vec<String>,
) -> Result<Vec<Index>, Error> {
    let found = session.rows(
        "SELECT list.name, list.\"unique\", list.partial, \
         (SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = list.name) \
         FROM pragma_index_list(?1) AS list ORDER BY list.name",
        &[table],
        |row| {
            let (unique, partial, ddl) = (row.get(1)?, row.get(2)?, name::text(row, 3)?);
            let index = |name| Index { name, unique, partial, columns: Vec::new(), ddl };
            Ok(name::read(row, 0)?.map(index))
        },
    )?;
    let mut indexes = readable(found, unreadable);
    for index in &mut indexes {
        index.columns = session.rows(
            "SELECT name FROM pragma_index_info(?1) ORDER BY seqno",
            &[&index.name],
            |row| name::text(row, 0),
        )?;
    }
    Ok(indexes)
}

fn triggers(
    session: &mut Session<'_>,
    table: &str,
    unreadable: &mut Vec<String>,
) -> Result<Vec<Trigger>, Error> {
    let found = session.rows(
        "SELECT name, sql FROM sqlite_schema \
         WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE ORDER BY name",
        &[table],
        |row| {
            let ddl = name::some_text(row, 1)?;
            Ok(name::read(row, 0)?.map(|name| Trigger { name, ddl }))
        },
    )?;
    Ok(readable(found, unreadable))
}

/// Sorts out what has a name that is not valid UTF-8.
fn readable<T>(found: Vec<Result<T, String>>, unreadable: &mut Vec<String>) -> Vec<T> {
    let readable = |one: Result<T, String>| one.map_err(|shown| unreadable.push(shown)).ok();
    found.into_iter().filter_map(readable).collect()
}

/// The statement that created a table or view, as the schema keeps it.
pub(crate) fn ddl(session: &mut Session<'_>, table: &str) -> Result<Option<String>, Error> {
    let found = session.rows(
        "SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1",
        &[table],
        |row| name::text(row, 0),
    )?;
    Ok(found.into_iter().next().flatten())
}

fn sample(session: &mut Session<'_>, table: &Table, rows: u64) -> Result<Rowset, Error> {
    let started = Instant::now();
    let columns = table.visible_columns().map(|column| column.name.as_str());
    let sql = format!("{} LIMIT {rows}", select(columns, &table.name));
    let bounds = Bounds { max_rows: rows, max_bytes: session.settings().max_bytes };
    let collected = session.with_statement(&sql, |statement| collect(statement, bounds, started));
    let sample = collected.map_err(|error| error.on_table(&table.name))?;
    Ok(sample.with_hint(|_| "use query_records for the other rows".to_owned()))
}
