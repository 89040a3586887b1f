use std::ops::Deref;
use std::time::SystemTime;

use rusqlite::{Connection, named_params};

use super::reading::Reading;
use super::row::{Mark, Request, Row};
use crate::error::{Error, StorageError};

/// The store while one command changes it.
pub(crate) struct Writing<'c> {
    reading: Reading<'c>,
}

impl<'c> Writing<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { reading: Reading::new(connection) }
    }

    /// Inserts or replaces a record.
    pub(crate) fn put(&self, resource: &str, id: &str, row: &Row) -> Result<(), Error> {
        let mut statement = self.connection().prepare_cached(
            "INSERT INTO records (resource, id, fields, version, state, created_at, updated_at)
             VALUES (:resource, :id, :fields, :version, :state, :created_at, :updated_at)
             ON CONFLICT DO UPDATE SET
                 fields = excluded.fields, version = excluded.version, state = excluded.state,
                 created_at = excluded.created_at, updated_at = excluded.updated_at",
        )?;
        statement.execute(named_params! {
            ":resource": resource,
            ":id": id,
            ":fields": row.fields,
            ":version": integer("version", row.version, resource, id)?,
            ":state": integer("state", row.state, resource, id)?,
            ":created_at": row.created_at,
            ":updated_at": row.updated_at,
        })?;
        // A first version is of an id that was not deleted before.
        if row.version > 1 {
            let mut statement = self
                .connection()
                .prepare_cached("DELETE FROM deleted WHERE resource = ?1 AND id = ?2")?;
            statement.execute((resource, id))?;
        }
        Ok(())
    }

    /// Removes a record, if it is there, and leaves nothing in this state. Its version is remembered.
    pub(crate) fn remove(&self, resource: &str, id: &str, state: u64) -> Result<(), Error> {
        let state = integer("state", state, resource, id)?;
        let mut statement = self.connection().prepare_cached(
            "INSERT OR REPLACE INTO deleted (resource, id, version, state, at)
             SELECT resource, id, version, ?3, ?4 FROM records WHERE resource = ?1 AND id = ?2",
        )?;
        statement.execute((resource, id, state, milliseconds(SystemTime::now())))?;
        let mut statement = self
            .connection()
            .prepare_cached("DELETE FROM records WHERE resource = ?1 AND id = ?2")?;
        statement.execute((resource, id))?;
        Ok(())
    }

    /// Remembers a request of a caller, who has made none under this id.
    pub(crate) fn log(
        &self,
        caller: &str,
        request_id: &str,
        request: &Request,
    ) -> Result<(), Error> {
        let Request { resource, id, before, .. } = request;
        let number = |what, number| integer(what, number, resource, id);
        let mut statement = self.connection().prepare_cached(
            "INSERT INTO requests (caller, request_id, resource, command, id, asked,
                 before_fields, before_version, before_state, before_created_at, before_updated_at,
                 after_state, after_deleted, reply, reverted, at)
             VALUES (:caller, :request_id, :resource, :command, :id, :asked,
                 :before_fields, :before_version, :before_state, :before_created_at, :before_updated_at,
                 :after_state, :after_deleted, :reply, :reverted, :at)",
        )?;
        let (before_state, _) = numbered(before.mark());
        let (after_state, after_deleted) = numbered(request.after);
        let version = before.version();
        let before = before.record();
        statement.execute(named_params! {
            ":caller": caller,
            ":request_id": request_id,
            ":resource": resource,
            ":command": request.command,
            ":id": id,
            ":asked": request.asked,
            ":before_fields": before.map(|row| &row.fields),
            ":before_version": number("version", version)?,
            ":before_state": number("state", before_state)?,
            ":before_created_at": before.map(|row| row.created_at),
            ":before_updated_at": before.map(|row| row.updated_at),
            ":after_state": number("state", after_state)?,
            ":after_deleted": after_deleted,
            ":reply": request.reply,
            ":reverted": request.reverted,
            ":at": request.at,
        })?;
        Ok(())
    }

    /// Remembers that a request was undone.
    pub(crate) fn mark_reverted(&self, caller: &str, request_id: &str) -> Result<(), Error> {
        let mut statement = self.connection().prepare_cached(
            "UPDATE requests SET reverted = TRUE WHERE caller = ?1 AND request_id = ?2",
        )?;
        statement.execute((caller, request_id))?;
        Ok(())
    }
}

impl<'c> Deref for Writing<'c> {
    type Target = Reading<'c>;

    fn deref(&self) -> &Reading<'c> {
        &self.reading
    }
}

/// A state, and whether it is one of nothing.
fn numbered(mark: Mark) -> (u64, bool) {
    match mark {
        Mark::Record(state) => (state, false),
        Mark::Nothing(state) => (state, true),
    }
}

/// A version or a state as SQLite has it.
fn integer(what: &'static str, number: u64, resource: &str, id: &str) -> Result<i64, Error> {
    i64::try_from(number).map_err(|_| {
        let (resource, id) = (resource.to_owned(), id.to_owned());
        Error::Storage(StorageError::Corrupt { what, resource, id })
    })
}

/// Milliseconds since 1970; 0 for a clock that is before.
pub(super) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
