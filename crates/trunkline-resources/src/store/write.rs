use rusqlite::{Result, named_params};

use super::Records;
use super::row::{Request, Row, StateId, now};

impl Records<'_> {
    /// Inserts or replaces a record.
    pub(crate) fn put(&self, resource: &str, id: &str, row: &Row) -> Result<()> {
        let mut statement = self.connection.prepare_cached(
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
            ":version": row.version,
            ":state": row.state,
            ":created_at": row.created_at,
            ":updated_at": row.updated_at,
        })?;
        // The first version of an id has no predecessor in `deleted`.
        if row.version > 1 {
            let sql = "DELETE FROM deleted WHERE resource = ?1 AND id = ?2";
            self.connection.prepare_cached(sql)?.execute((resource, id))?;
        }
        Ok(())
    }

    /// Deletes a record if it exists, and stores its version and the new state.
    pub(crate) fn remove(&self, resource: &str, id: &str, state: u64) -> Result<()> {
        let mut statement = self.connection.prepare_cached(
            "INSERT OR REPLACE INTO deleted (resource, id, version, state, at)
             SELECT resource, id, version, ?3, ?4 FROM records WHERE resource = ?1 AND id = ?2",
        )?;
        statement.execute((resource, id, state, now()))?;
        let sql = "DELETE FROM records WHERE resource = ?1 AND id = ?2";
        self.connection.prepare_cached(sql)?.execute((resource, id))?;
        Ok(())
    }

    /// Stores a request under an id that the caller has not used.
    pub(crate) fn log(&self, caller: &str, request_id: &str, request: &Request) -> Result<()> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO requests (caller, request_id, resource, command, id, asked,
                 before_fields, before_version, before_state, before_created_at, before_updated_at,
                 after_state, after_deleted, reply, reverted, at)
             VALUES (:caller, :request_id, :resource, :command, :id, :asked,
                 :before_fields, :before_version, :before_state, :before_created_at, :before_updated_at,
                 :after_state, :after_deleted, :reply, :reverted, :at)",
        )?;
        let before = request.before.record();
        let (StateId::Record(before_state) | StateId::Absent(before_state)) =
            request.before.state_id();
        let (StateId::Record(after_state) | StateId::Absent(after_state)) = request.after;
        statement.execute(named_params! {
            ":caller": caller,
            ":request_id": request_id,
            ":resource": request.resource,
            ":command": request.command,
            ":id": request.id,
            ":asked": request.content,
            ":before_fields": before.map(|row| &row.fields),
            ":before_version": request.before.version(),
            ":before_state": before_state,
            ":before_created_at": before.map(|row| row.created_at),
            ":before_updated_at": before.map(|row| row.updated_at),
            ":after_state": after_state,
            ":after_deleted": matches!(request.after, StateId::Absent(_)),
            ":reply": request.reply,
            ":reverted": request.reverted,
            ":at": request.at,
        })?;
        Ok(())
    }

    /// Marks a request as reverted.
    pub(crate) fn mark_reverted(&self, caller: &str, request_id: &str) -> Result<()> {
        let sql = "UPDATE requests SET reverted = TRUE WHERE caller = ?1 AND request_id = ?2";
        self.connection.prepare_cached(sql)?.execute((caller, request_id))?;
        Ok(())
    }
}
