use std::ops::ControlFlow;

use trunkline_storage::StoreError;

use super::Tables;
use super::row::{IdState, Request, Row, StateId};
use crate::error::Error;

type Result<T> = std::result::Result<T, StoreError>;

impl Tables<'_> {
    /// Returns the record with this id.
    pub(crate) fn record(&self, resource: &str, id: &str) -> Result<Option<Row>> {
        let sql = "SELECT fields, version, state, created_at, updated_at
             FROM records WHERE resource = ?1 AND id = ?2";
        self.connection.query_row(sql, &[resource.into(), id.into()], stored)
    }

    /// Returns the state of this id.
    pub(crate) fn state(&self, resource: &str, id: &str) -> Result<IdState> {
        if let Some(row) = self.record(resource, id)? {
            return Ok(IdState::Record(row));
        }
        let sql = "SELECT version, state FROM deleted WHERE resource = ?1 AND id = ?2";
        let deleted = self.connection.query_row(sql, &[resource.into(), id.into()], |row| {
            Ok(IdState::Absent { version: row.get(0)?, state: row.get(1)? })
        });
        Ok(deleted?.unwrap_or(IdState::Absent { version: 0, state: 0 }))
    }

    /// The number of records of a type.
    pub(crate) fn count(&self, resource: &str) -> Result<u64> {
        let sql = "SELECT count(*) FROM records WHERE resource = ?1";
        let count = self.connection.query_row(sql, &[resource.into()], |row| row.get(0))?;
        Ok(count.unwrap_or_default())
    }

    /// Calls `each` with the records of a type whose ids follow `after`, in order, until it breaks.
    pub(crate) fn scan(
        &self,
        resource: &str,
        after: Option<&str>,
        mut each: impl FnMut(&str, Row) -> std::result::Result<ControlFlow<()>, Error>,
    ) -> std::result::Result<(), Error> {
        let sql = "SELECT fields, version, state, created_at, updated_at, id
             FROM records WHERE resource = ?1 AND id > ?2 ORDER BY id";
        // Ids are not empty, so all of them follow the empty text.
        let params = [resource.into(), after.unwrap_or_default().into()];
        self.connection.query(sql, &params, |row| each(&row.text(5)?, stored(row)?))
    }

    /// Returns the stored request of a caller with this id.
    pub(crate) fn request(&self, caller: &str, request_id: &str) -> Result<Option<Request>> {
        let sql = "SELECT before_fields, before_version, before_state, before_created_at, before_updated_at,
                    resource, command, id, asked, after_state, after_deleted, reply, reverted, at
             FROM requests WHERE caller = ?1 AND request_id = ?2";
        self.connection.query_row(sql, &[caller.into(), request_id.into()], |row| {
            let before = match row.get::<Option<String>>(0)? {
                None => IdState::Absent { version: row.get(1)?, state: row.get(2)? },
                Some(_) => IdState::Record(stored(row)?),
            };
            let state = row.get(9)?;
            Ok(Request {
                resource: row.get(5)?,
                command: row.get(6)?,
                id: row.get(7)?,
                content: row.get(8)?,
                before,
                after: if row.get(10)? { StateId::Absent(state) } else { StateId::Record(state) },
                reply: row.get(11)?,
                reverted: row.get(12)?,
                at: row.get(13)?,
            })
        })
    }
}

/// The record in the first five columns.
fn stored(row: &trunkline_storage::Row<'_>) -> Result<Row> {
    Ok(Row {
        fields: row.get(0)?,
        version: row.get(1)?,
        state: row.get(2)?,
        created_at: row.get(3)?,
        updated_at: row.get(4)?,
    })
}
