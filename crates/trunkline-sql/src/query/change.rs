//! Statements that change rows.

use serde_json::{Map, Value as Json};

use super::filter::Filter;
use super::identifier::quote;
use crate::model::change::{DeleteRecord, OnConflict, Returning, UpdateRecord};
use crate::model::error::Error;
use crate::model::schema::{Table, Visibility};
use crate::model::value::{self, Value};

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
    /// Looks the columns up and reads the values.
    pub(crate) fn read(table: &'t Table, data: &Map<String, Json>) -> Result<Self, Error> {
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
            record.values.push(value::from_json(json).map_err(bad)?);
            record.columns.push(column);
        }
        Ok(record)
    }
}

/// A statement that changes rows, with the values of its `?`.
pub(crate) struct Change {
    pub(crate) sql: String,
    pub(crate) values: Vec<Value>,
}

impl Change {
    pub(crate) fn update(table: &Table, request: &UpdateRecord) -> Result<Self, Error> {
        let filter = filter(table, &request.filters, request.all)?;
        let record = Record::read(table, &request.data)?;
        if record.columns.is_empty() {
            let reason = "it is empty; send at least one column with its new value";
            return Err(Error::argument("data", reason));
        }
        let set: Vec<String> =
            record.columns.iter().map(|column| format!("{} = ?", quote(column))).collect();
        let sql =
            format!("UPDATE OR ABORT {} SET {}{}", quote(&table.name), set.join(", "), filter.sql);
        let mut values = record.values;
        values.extend(filter.values);
        Ok(Self { sql, values })
    }

    pub(crate) fn delete(table: &Table, request: &DeleteRecord) -> Result<Self, Error> {
        let filter = filter(table, &request.filters, request.all)?;
        let sql = format!("DELETE FROM {}{}", quote(&table.name), filter.sql);
        Ok(Self { sql, values: filter.values })
    }
}

/// The filter of a change. Without conditions it matches every row, which requires `all`.
fn filter(table: &Table, filters: &Map<String, Json>, all: bool) -> Result<Filter, Error> {
    if filters.is_empty() && !all {
        return Err(Error::argument(
            "filters",
            "empty filters match every row of the table; add conditions, or send \"all\": true",
        ));
    }
    Filter::all(table, filters)
}

/// The text of an `INSERT` of one record.
pub(crate) fn insert(table: &Table, columns: &[&str], on_conflict: OnConflict) -> String {
    let verb = match on_conflict {
        OnConflict::Abort => "INSERT OR ABORT",
        OnConflict::Ignore => "INSERT OR IGNORE",
        OnConflict::Replace => "INSERT OR REPLACE",
    };
    let name = quote(&table.name);
    if columns.is_empty() {
        return format!("{verb} INTO {name} DEFAULT VALUES");
    }
    let columns: Vec<String> = columns.iter().map(|column| quote(column)).collect();
    let marks = vec!["?"; columns.len()].join(", ");
    format!("{verb} INTO {name} ({}) VALUES ({marks})", columns.join(", "))
}

/// The `RETURNING` clause, if the caller requests one.
pub(crate) fn returning(
    table: &Table,
    requested: Option<&Returning>,
) -> Result<Option<String>, Error> {
    let names: Vec<String> = match requested {
        None | Some(Returning::All(false)) => return Ok(None),
        Some(Returning::Column(name)) if name != "*" || table.column(name).is_ok() => {
            vec![quote(&table.column(name)?.name)]
        }
        Some(Returning::All(true) | Returning::Column(_)) => {
            table.visible_columns().map(|c| quote(&c.name)).collect()
        }
        Some(Returning::Columns(names)) if names.is_empty() => {
            let reason = "the list is empty; send true for all columns";
            return Err(Error::argument("returning", reason));
        }
        Some(Returning::Columns(names)) => names
            .iter()
            .map(|name| table.column(name).map(|column| quote(&column.name)))
            .collect::<Result<_, _>>()?,
    };
    Ok(Some(format!(" RETURNING {}", names.join(", "))))
}
