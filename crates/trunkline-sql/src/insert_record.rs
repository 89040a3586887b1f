use std::time::Instant;

use rusqlite::Statement;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

use crate::DistinctKeys;
use crate::affected::{RowLimit, direct_rows};
use crate::error::Error;
use crate::identifier::quote;
use crate::records::Record;
use crate::rowset::{Bounds, Collector, RowNumber, Rowset};
use crate::schema::{Table, TableKind};
use crate::session::Session;
use crate::shapes;
use crate::value::Value;
use crate::whole_number;

/// Adds records to a table, all or none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InsertRecord {
    /// The table's name, in either case.
    pub table_name: String,
    /// One record, or a list of at most 1,000: values by column name. Columns that a record leaves out get
    /// their default. Values are null, booleans (stored as 0 and 1), numbers, strings, or
    /// {"$blob": base64}; send JSON as a string.
    #[schemars(schema_with = "shapes::records")]
    pub data: Records,
    /// The resolution for a record that violates a UNIQUE, NOT NULL or primary key constraint. "replace"
    /// deletes the conflicting rows. Default "abort".
    #[serde(default)]
    pub on_conflict: Option<OnConflict>,
    /// True to have the inserted rows in the reply with all columns, or the names of the columns wanted:
    /// generated keys and defaults, for example. Default false.
    #[serde(default)]
    pub returning: Option<Returning>,
    /// Most rows that the call may change besides the records that it inserts: rows that "replace" deletes,
    /// and those that foreign keys and triggers change; if there are more, the call fails and inserts nothing.
    /// Default 1,000, or what the server is set to.
    #[serde(default, deserialize_with = "whole_number::optional")]
    #[schemars(schema_with = "shapes::count")]
    pub max_affected: Option<u64>,
}

/// One record or several.
#[derive(Clone, Debug)]
pub enum Records {
    /// One.
    One(Map<String, Json>),
    /// Several, which are inserted in this order and in one transaction.
    Several(Vec<Map<String, Json>>),
}

impl<'de> Deserialize<'de> for Records {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let record = |json| match json {
            Json::Object(record) => Some(record),
            _ => None,
        };
        let records = match DistinctKeys::deserialize(deserializer)?.0 {
            Json::Array(list) => {
                list.into_iter().map(record).collect::<Option<_>>().map(Self::Several)
            }
            json => record(json).map(Self::One),
        };
        records.ok_or_else(|| {
            let expected = "expected an object of values by column name, or a list of such objects";
            D::Error::custom(expected)
        })
    }
}

/// What happens to a record that breaks a constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// The call fails, and inserts nothing at all.
    #[default]
    Abort,
    /// The record is left out.
    Ignore,
    /// The rows in its way are deleted.
    Replace,
}

/// Whether the inserted rows are wanted, and which of their columns.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or a list of column names")]
pub enum Returning {
    /// All columns, or no rows.
    All(bool),
    /// These columns, in this order.
    Columns(Vec<String>),
}

/// What was inserted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Inserted {
    /// How many rows were inserted.
    pub rows_affected: u64,
    /// The row number of the last inserted row, which is its INTEGER PRIMARY KEY if the table has one.
    /// Null if nothing was inserted, or the table has no row numbers.
    pub id: Option<RowNumber>,
    /// The inserted rows, if `returning` asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rowset>,
}

impl InsertRecord {
    /// Adds one record.
    pub fn new(table_name: impl Into<String>, record: Map<String, Json>) -> Self {
        Self {
            table_name: table_name.into(),
            data: Records::One(record),
            on_conflict: None,
            returning: None,
            max_affected: None,
        }
    }

    fn records(&self) -> &[Map<String, Json>] {
        match &self.data {
            Records::One(record) => std::slice::from_ref(record),
            Records::Several(records) => records,
        }
    }
}

pub(crate) fn insert_record(
    session: &mut Session<'_>,
    request: &InsertRecord,
) -> Result<Inserted, Error> {
    let started = Instant::now();
    check_count(request.records().len(), session.settings().max_records)?;
    let table = session.table(&request.table_name)?;
    let inserted = match request.on_conflict {
        Some(OnConflict::Replace) => replace(session, request, &table, started),
        _ => insert(session, request, &table, started),
    };
    inserted.map_err(|error| error.on_table(&table.name))
}

fn insert(
    session: &mut Session<'_>,
    request: &InsertRecord,
    table: &Table,
    started: Instant,
) -> Result<Inserted, Error> {
    let count = request.records().len() as u64;
    let limit = RowLimit::begin(session, request.max_affected, count)?;
    let inserted = insert_all(session, request, table, &limit, started)?;
    limit.check(limit.further_rows(session, inserted.rows_affected)?)?;
    Ok(inserted)
}

/// SQLite counts replaced rows nowhere, so they are the difference between two counts of all rows. That takes
/// time in a large table, so they are not counted if even the most that there can be are within the limit.
fn replace(
    session: &mut Session<'_>,
    request: &InsertRecord,
    table: &Table,
    started: Instant,
) -> Result<Inserted, Error> {
    if table.kind == TableKind::Virtual {
        return Err(Error::BadArgument {
            argument: "on_conflict",
            reason: "`replace` is not supported for virtual tables; delete the old rows first"
                .to_owned(),
        });
    }
    let count = request.records().len() as u64;
    session.mark()?;
    let limit = RowLimit::begin(session, request.max_affected, count)?;
    let inserted = insert_all(session, request, table, &limit, started)?;
    let further = limit.further_rows(session, inserted.rows_affected)?;
    // Each record replaces at most one row for each key.
    let most = count * unique_keys(session, table)?;
    if limit.check(further + most).is_ok() {
        return Ok(inserted);
    }
    let growth = match (session.clearance(), table.without_rowid) {
        (Some(clearance), false) => clearance.growth(&table.name),
        _ => inserted.rows_affected as i64,
    };
    let after = row_count(session, table)?;
    session.roll_back_to_mark()?;
    let replaced = row_count(session, table)? + growth - after;
    limit.check(further + u64::try_from(replaced).unwrap_or_default())?;
    let limit = RowLimit::begin(session, request.max_affected, count)?;
    insert_all(session, request, table, &limit, started)
}

fn unique_keys(session: &mut Session<'_>, table: &Table) -> Result<u64, Error> {
    let sql = "SELECT name FROM pragma_index_list(?1) WHERE \"unique\"";
    let indexes = session.rows(sql, &[&table.name], |_| Ok(()))?;
    // The row number is a key without an index.
    Ok(indexes.len() as u64 + 1)
}

fn row_count(session: &mut Session<'_>, table: &Table) -> Result<i64, Error> {
    let sql = format!("SELECT count(*) FROM {}", quote(&table.name));
    let counts = session.rows(&sql, &[], |row| row.get(0))?;
    Ok(counts.first().copied().unwrap_or_default())
}

fn insert_all(
    session: &Session<'_>,
    request: &InsertRecord,
    table: &Table,
    limit: &RowLimit,
    started: Instant,
) -> Result<Inserted, Error> {
    let returning = returning(table, request.returning.as_ref())?;
    let settings = session.settings();
    let bounds = Bounds { max_rows: settings.max_rows, max_bytes: settings.max_bytes };
    let mut rows = Collector::new(bounds, started);
    let mut rows_affected = 0;
    let mut id = None;
    let mut compiled: Option<(Vec<&str>, Statement<'_>)> = None;
    for data in request.records() {
        let record = Record::read(table, data)?;
        // Compiled anew in each call: which tables it may change is noted while it is compiled.
        let statement = match compiled.take() {
            Some((columns, statement)) if columns == record.columns => statement,
            _ => {
                let sql =
                    insert_sql(table, &record.columns, request.on_conflict.unwrap_or_default());
                let sql = sql + returning.as_deref().unwrap_or_default();
                session.prepare(&sql)?
            }
        };
        let (_, statement) = compiled.insert((record.columns, statement));
        let connection = session.connection();
        let before = connection.total_changes();
        bind_and_run(statement, record.values, &mut rows)
            .map_err(|error| limit.explain(session, error))?;
        let inserted = direct_rows(session, before);
        if inserted > 0 {
            rows_affected += inserted;
            id = has_row_numbers(table).then(|| RowNumber(connection.last_insert_rowid()));
        }
    }
    let rows = match returning {
        Some(_) => Some(rows.finish()?.with_hint(|_| {
            "all records were inserted; use query_records for the other rows".to_owned()
        })),
        None => None,
    };
    Ok(Inserted { rows_affected, id, rows })
}

fn check_count(count: usize, max: usize) -> Result<(), Error> {
    let reason = match count {
        0 => "the list is empty".to_owned(),
        count if count > max => {
            format!("{count} records were sent, and one call takes {max}; send the rest in another")
        }
        _ => return Ok(()),
    };
    Err(Error::BadArgument { argument: "data", reason })
}

/// Views count changes of their triggers as none; virtual tables choose the number themselves.
fn has_row_numbers(table: &Table) -> bool {
    table.kind != TableKind::View && !table.without_rowid
}

fn returning(table: &Table, wanted: Option<&Returning>) -> Result<Option<String>, Error> {
    let names: Vec<String> = match wanted {
        None | Some(Returning::All(false)) => return Ok(None),
        Some(Returning::All(true)) => table.visible_columns().map(|c| quote(&c.name)).collect(),
        Some(Returning::Columns(names)) if names.is_empty() => {
            return Err(Error::BadArgument {
                argument: "returning",
                reason: "the list is empty; send true for all columns".to_owned(),
            });
        }
        Some(Returning::Columns(names)) => names
            .iter()
            .map(|name| table.column(name).map(|column| quote(&column.name)))
            .collect::<Result<_, _>>()?,
    };
    Ok(Some(format!(" RETURNING {}", names.join(", "))))
}

fn insert_sql(table: &Table, columns: &[&str], on_conflict: OnConflict) -> String {
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

fn bind_and_run(
    statement: &mut Statement<'_>,
    values: Vec<Value>,
    rows: &mut Collector,
) -> Result<(), Error> {
    for (index, value) in (1..).zip(values) {
        statement.raw_bind_parameter(index, value)?;
    }
    rows.take(statement)
}
