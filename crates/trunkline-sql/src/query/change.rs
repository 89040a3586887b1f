//! Statements that change rows.

use serde_json::{Map, Value as Json};

use super::document::{self, Encoding};
use super::filter::Filter;
use super::identifier::quote;
use crate::model::change::{DeleteRecord, OnConflict, Returning, UpdateRecord};
use crate::model::error::Error;
use crate::model::schema::{Column, Dialect, Table, Visibility};
use crate::model::value::{self, Value};
use crate::model::visibility::VisibilityRules;

/// For example, `INSERT INTO docs(docs) VALUES ('delete-all')` empties a full-text index.
const HIDDEN: &str = "it is a hidden column, whose values are commands to a virtual table; \
                      send them as SQL with `execute_raw_query`";

/// The columns of a record, in the schema's spelling, with their values.
#[derive(Debug, Default)]
pub(crate) struct Record<'t> {
    pub(crate) columns: Vec<&'t str>,
    pub(crate) values: Vec<Value>,
}

impl<'t> Record<'t> {
    /// Looks the columns of a new row up and reads the values.
    pub(crate) fn read(table: &'t Table, data: &Map<String, Json>) -> Result<Self, Error> {
        let record = Self::of(table, data)?;
        record.check_masks(table, None)?;
        Ok(record)
    }

    /// As [`read`](Self::read), for existing rows.
    fn of_update(table: &'t Table, data: &Map<String, Json>) -> Result<Self, Error> {
        let record = Self::of(table, data)?;
        record.check_masks(table, Some(&record.columns))?;
        Ok(record)
    }

    /// Refuses values whose constraints compare them with masked ones: an error would show those.
    fn check_masks(&self, table: &Table, updated: Option<&[&str]>) -> Result<(), Error> {
        for (name, value) in self.columns.iter().zip(&self.values) {
            let Some(masked) = table.revealed_by(name, *value == Value::Null, updated) else {
                continue;
            };
            let column = (*name).to_owned();
            if table.column(name)?.mask.is_some() {
                let (table, argument) = (table.name.clone(), Some("data"));
                return Err(Error::Masked { table, column, argument });
            }
            let other = match masked {
                "" => "a masked column".to_owned(),
                name => format!("the masked column {name:?}"),
            };
            let reason = format!(
                "a constraint or unique index compares it with {other}, whose values its errors would show; \
                 remove the column from `data`, or change it without rules"
            );
            return Err(Error::BadColumn { argument: "data", column, reason });
        }
        Ok(())
    }

    fn of(table: &'t Table, data: &Map<String, Json>) -> Result<Self, Error> {
        let mut record = Self::default();
        for (name, json) in data {
            let found = table.column(name)?;
            let column = found.name.as_str();
            let bad = |reason: &str| Error::BadColumn {
                argument: "data",
                column: column.to_owned(),
                reason: reason.to_owned(),
            };
            if found.visibility == Visibility::Hidden {
                return Err(bad(HIDDEN));
            }
            if record.columns.contains(&column) {
                return Err(bad("duplicate key; case is ignored"));
            }
            let value = match table.dialect {
                Dialect::Sqlite => sqlite_value(json, found),
                Dialect::Postgres => document::column_value(json, found.value_type()),
            };
            let value = value.map_err(bad)?;
            if table.dialect == Dialect::Postgres && !document::fits(&value, found.value_type()) {
                let declared = found.value_type();
                return Err(bad(&format!(
                    "the value is too long or too large for the type {declared}"
                )));
            }
            record.values.push(value);
            record.columns.push(column);
        }
        Ok(record)
    }
}

/// Reads a value for a column of SQLite, which rounds integers for columns of floating-point numbers.
fn sqlite_value(json: &Json, column: &Column) -> Result<Value, &'static str> {
    if column.is_real() {
        Encoding::Double.check(json)?;
    }
    value::from_json(json)
}

/// A statement that changes rows, with the values of its parameters.
pub(crate) struct Change<'t> {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
    /// The columns of the first values, which are their new ones.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only errors of PostgreSQL have a number")
    )]
    pub(crate) data_columns: Vec<&'t str>,
    /// The columns that the other values are compared with.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only errors of PostgreSQL have a number")
    )]
    pub(crate) filter_columns: Vec<&'t str>,
}

impl<'t> Change<'t> {
    pub(crate) fn update(table: &'t Table, request: &UpdateRecord) -> Result<Self, Error> {
        check_filters(&request.filters, request.all)?;
        let record = Record::of_update(table, &request.data)?;
        if record.columns.is_empty() {
            let reason = "it is empty; send at least one column with its new value";
            return Err(Error::argument("data", reason));
        }
        let dialect = table.dialect;
        let set = |(number, column): (usize, &&str)| {
            format!("{} = {}", quote(column), dialect.parameter(number))
        };
        let set: Vec<String> = (1..).zip(&record.columns).map(set).collect();
        let verb = match dialect {
            Dialect::Sqlite => "UPDATE OR ABORT",
            Dialect::Postgres => "UPDATE",
        };
        let filter = Filter::all(table, &request.filters, record.values)?;
        dialect.check_count(filter.values.len())?;
        let sql = format!("{verb} {} SET {}{}", table.source(), set.join(", "), filter.sql);
        let data_columns = record.columns;
        Ok(Self { sql, values: filter.values, data_columns, filter_columns: filter.columns })
    }

    pub(crate) fn delete(table: &'t Table, request: &DeleteRecord) -> Result<Self, Error> {
        check_filters(&request.filters, request.all)?;
        let filter = Filter::all(table, &request.filters, Vec::new())?;
        table.dialect.check_count(filter.values.len())?;
        let sql = format!("DELETE FROM {}{}", table.source(), filter.sql);
        let filter_columns = filter.columns;
        Ok(Self { sql, values: filter.values, data_columns: Vec::new(), filter_columns })
    }
}

/// The error of a change of a table. Under rules, it does not name other tables, which foreign keys and triggers
/// change.
pub(crate) fn without_other_tables(error: Error, rules: &VisibilityRules, table: &str) -> Error {
    match error {
        Error::Constraint { table: Some(other), .. }
            if !rules.is_empty() && !other.eq_ignore_ascii_case(table) =>
        {
            let message =
                "a row of another table refers to the row, or a trigger failed".to_owned();
            Error::Constraint { message, table: None, column: None, report: None }
        }
        error => error,
    }
}

/// Filters without conditions match every row, which requires `all`.
fn check_filters(filters: &Map<String, Json>, all: bool) -> Result<(), Error> {
    if filters.is_empty() && !all {
        return Err(Error::argument(
            "filters",
            "empty filters match every row of the table; add conditions, or send \"all\": true",
        ));
    }
    Ok(())
}

/// Checks the number of records of one call.
pub(crate) fn check_count(count: usize, max: usize) -> Result<(), Error> {
    let reason = match count {
        0 => "the list is empty".to_owned(),
        count if count > max => {
            format!(
                "{count} records exceed the maximum of {max} per call; send the rest in another call"
            )
        }
        _ => return Ok(()),
    };
    Err(Error::argument("data", reason))
}

/// The text of an `INSERT` of one record.
///
/// # Errors
///
/// [`Error::BadArgument`] if PostgreSQL is to replace rows of a table without a key.
pub(crate) fn insert(
    table: &Table,
    columns: &[&str],
    on_conflict: OnConflict,
) -> Result<String, Error> {
    insert_rows(table, columns, on_conflict, 1, "")
}

/// The text of an `INSERT` of several records with the same columns in an import. Without columns, it inserts one
/// record. Given values of identity columns are kept, also in those that are always generated.
///
/// # Errors
///
/// As of [`insert`].
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite inserts single records"))]
pub(crate) fn insert_several(
    table: &Table,
    columns: &[&str],
    on_conflict: OnConflict,
    count: usize,
) -> Result<String, Error> {
    let overriding = match table.dialect {
        Dialect::Sqlite => "",
        Dialect::Postgres => " OVERRIDING SYSTEM VALUE",
    };
    insert_rows(table, columns, on_conflict, count, overriding)
}

fn insert_rows(
    table: &Table,
    columns: &[&str],
    on_conflict: OnConflict,
    count: usize,
    overriding: &str,
) -> Result<String, Error> {
    let verb = match (table.dialect, on_conflict) {
        (Dialect::Postgres, _) => "INSERT",
        (Dialect::Sqlite, OnConflict::Abort) => "INSERT OR ABORT",
        (Dialect::Sqlite, OnConflict::Ignore) => "INSERT OR IGNORE",
        (Dialect::Sqlite, OnConflict::Replace) => "INSERT OR REPLACE",
    };
    let clause = match (table.dialect, on_conflict) {
        (Dialect::Postgres, OnConflict::Ignore) => " ON CONFLICT DO NOTHING".to_owned(),
        (Dialect::Postgres, OnConflict::Replace) => replace(table, columns)?,
        _ => String::new(),
    };
    let name = table.quoted();
    if columns.is_empty() {
        return Ok(format!("{verb} INTO {name} DEFAULT VALUES{clause}"));
    }
    let names: Vec<String> = columns.iter().map(|column| quote(column)).collect();
    let record = |index: usize| {
        let numbers = (1..=columns.len()).map(|number| index * columns.len() + number);
        let parameters: Vec<String> =
            numbers.map(|number| table.dialect.parameter(number)).collect();
        format!("({})", parameters.join(", "))
    };
    let records: Vec<String> = (0..count).map(record).collect();
    let (names, records) = (names.join(", "), records.join(", "));
    Ok(format!("{verb} INTO {name} ({names}){overriding} VALUES {records}{clause}"))
}

/// The clause by which PostgreSQL replaces the row with the same key. Columns that are not in the record get their
/// defaults, as in a new row.
fn replace(table: &Table, columns: &[&str]) -> Result<String, Error> {
    let key = table.row_identity();
    if key.is_empty() {
        let reason = "`replace` requires a table with a primary key or a unique key";
        return Err(Error::argument("on_conflict", reason));
    }
    let is_stored = |column: &&Column| column.visibility == Visibility::Normal;
    let others = table.columns.iter().filter(is_stored).map(|column| column.name.as_str());
    let set = others.filter(|name| !key.contains(name)).map(|name| {
        let is_given = columns.contains(&name);
        let name = quote(name);
        if is_given { format!("{name} = EXCLUDED.{name}") } else { format!("{name} = DEFAULT") }
    });
    let set: Vec<String> = set.collect();
    let key: Vec<String> = key.into_iter().map(quote).collect();
    let action = match set.as_slice() {
        [] => "NOTHING".to_owned(),
        set => format!("UPDATE SET {}", set.join(", ")),
    };
    Ok(format!(" ON CONFLICT ({}) DO {action}", key.join(", ")))
}

/// The `RETURNING` clause, if the caller requests one.
pub(crate) fn returning(
    table: &Table,
    requested: Option<&Returning>,
) -> Result<Option<String>, Error> {
    let names: Vec<String> = match requested {
        None | Some(Returning::All(false)) => return Ok(None),
        Some(Returning::Column(name)) if name != "*" || table.column(name).is_ok() => {
            vec![quote(&table.open_column(name, "returning")?.name)]
        }
        Some(Returning::All(true) | Returning::Column(_)) => {
            let columns = table.visible_columns().filter(|column| column.mask.is_none());
            columns.map(|column| quote(&column.name)).collect()
        }
        Some(Returning::Columns(names)) if names.is_empty() => {
            let reason = "the list is empty; send true for all columns";
            return Err(Error::argument("returning", reason));
        }
        Some(Returning::Columns(names)) => {
            table.dialect.check_names("returning", names.len())?;
            let column = |name: &String| table.open_column(name, "returning");
            let quoted = |name| column(name).map(|column| quote(&column.name));
            names.iter().map(quoted).collect::<Result<_, _>>()?
        }
    };
    if names.is_empty() {
        let reason = "all columns of the table are masked";
        return Err(Error::argument("returning", reason));
    }
    Ok(Some(format!(" RETURNING {}", names.join(", "))))
}
