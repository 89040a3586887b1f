use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use super::row::{Mark, Request, Row, Standing};
use crate::error::{Error, StorageError};

/// One state of the store.
pub(crate) struct Reading<'c> {
    connection: &'c Connection,
    /// None for as long as it takes.
    until: Option<Instant>,
}

impl<'c> Reading<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, until: None }
    }

    pub(super) fn for_time(connection: &'c Connection, time: Duration) -> Self {
        Self { connection, until: Instant::now().checked_add(time) }
    }

    pub(super) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Whether there is time to look at another record. What is known otherwise can still be answered.
    pub(crate) fn has_time(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }

    /// The record with this id, if there is one.
    pub(crate) fn record(&self, resource: &str, id: &str) -> Result<Option<Row>, Error> {
        let mut statement = self.connection.prepare_cached(
            "SELECT fields, version, state, created_at, updated_at
             FROM records WHERE resource = ?1 AND id = ?2",
        )?;
        let row = statement.query_row((resource, id), |row| stored(row, 0)).optional()?;
        row.map(|row| row.checked(resource, id)).transpose()
    }

    /// The state of this id.
    pub(crate) fn standing(&self, resource: &str, id: &str) -> Result<Standing, Error> {
        if let Some(row) = self.record(resource, id)? {
            return Ok(Standing::Record(row));
        }
        let mut statement = self
            .connection
            .prepare_cached("SELECT version, state FROM deleted WHERE resource = ?1 AND id = ?2")?;
        let numbers = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (version, state) =
            statement.query_row((resource, id), numbers).optional()?.unwrap_or((0, 0));
        nothing(version, state, resource, id)
    }

    /// The number of records of a resource.
    pub(crate) fn count(&self, resource: &str) -> Result<u64, Error> {
        let mut statement =
            self.connection.prepare_cached("SELECT count(*) FROM records WHERE resource = ?1")?;
        let count: i64 = statement.query_row([resource], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// Calls `each` with the records of a resource in the order of their ids, those behind `after`, until it
    /// breaks.
    pub(crate) fn scan(
        &self,
        resource: &str,
        after: Option<&str>,
        mut each: impl FnMut(&str, Row) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let mut statement = self.connection.prepare_cached(
            "SELECT fields, version, state, created_at, updated_at, id
             FROM records WHERE resource = ?1 AND id > ?2 ORDER BY id",
        )?;
        // No id is empty, so all ids follow the empty text.
        let mut rows = statement.query((resource, after.unwrap_or_default()))?;
        while let Some(row) = rows.next()? {
            let id = row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?;
            if each(id, stored(row, 0)?.checked(resource, id)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The request that a caller made under this id, if it is remembered.
    pub(crate) fn request(&self, caller: &str, request_id: &str) -> Result<Option<Request>, Error> {
        let mut statement = self.connection.prepare_cached(
            "SELECT before_fields, before_version, before_state, before_created_at, before_updated_at,
                    resource, command, id, asked, after_state, after_deleted, reply, reverted, at
             FROM requests WHERE caller = ?1 AND request_id = ?2",
        )?;
        let mut rows = statement.query((caller, request_id))?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let (resource, id): (String, String) = (row.get(5)?, row.get(7)?);
        let before = match row.get_ref(0)? {
            ValueRef::Null => nothing(row.get(1)?, row.get(2)?, &resource, &id)?,
            _ => Standing::Record(stored(row, 0)?.checked(&resource, &id)?),
        };
        let state = number("state", row.get(9)?, &resource, &id)?;
        let after = if row.get(10)? { Mark::Nothing(state) } else { Mark::Record(state) };
        Ok(Some(Request {
            command: row.get(6)?,
            asked: row.get(8)?,
            reply: row.get(11)?,
            reverted: row.get(12)?,
            at: row.get(13)?,
            resource,
            id,
            before,
            after,
        }))
    }
}

/// A [`Row`] whose numbers are SQLite's.
struct Stored {
    fields: String,
    version: i64,
    state: i64,
    created_at: i64,
    updated_at: i64,
}

fn stored(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Stored> {
    Ok(Stored {
        fields: row.get(first)?,
        version: row.get(first + 1)?,
        state: row.get(first + 2)?,
        created_at: row.get(first + 3)?,
        updated_at: row.get(first + 4)?,
    })
}

impl Stored {
    fn checked(self, resource: &str, id: &str) -> Result<Row, Error> {
        Ok(Row {
            version: number("version", self.version, resource, id)?,
            state: number("state", self.state, resource, id)?,
            fields: self.fields,
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}

fn nothing(version: i64, state: i64, resource: &str, id: &str) -> Result<Standing, Error> {
    let version = number("version", version, resource, id)?;
    let state = number("state", state, resource, id)?;
    Ok(Standing::Nothing { version, state })
}

/// A version or a state: it is never negative.
fn number(what: &'static str, stored: i64, resource: &str, id: &str) -> Result<u64, Error> {
    u64::try_from(stored).map_err(|_| {
        let (resource, id) = (resource.to_owned(), id.to_owned());
        Error::Storage(StorageError::Corrupt { what, resource, id })
    })
}
