//! Rows as callers send them: values by column name.

use serde_json::{Map, Value as Json};

use crate::error::Error;
use crate::schema::{Table, Visibility};
use crate::value::{self, Value};

/// `INSERT INTO docs(docs) VALUES ('delete-all')` empties a full-text index.
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
                return Err(bad("duplicate key; names match in either case"));
            }
            record.values.push(value::from_json(json).map_err(bad)?);
            record.columns.push(column);
        }
        Ok(record)
    }
}
