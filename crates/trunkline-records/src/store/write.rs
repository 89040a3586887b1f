use trunkline_storage::StoreError;

use super::Tables;
use super::row::{Request, Row, StateId, now};

type Result<T> = std::result::Result<T, StoreError>;

impl Tables<'_> {
    /// Inserts or replaces a record.
    pub(crate) fn put(&self, resource: &str, id: &str, row: &Row) -> Result<()> {
        let sql =
            "INSERT INTO records (resource, id, fields, version, state, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (resource, id) DO UPDATE SET
                 fields = excluded.fields, version = excluded.version, state = excluded.state,
                 created_at = excluded.created_at, updated_at = excluded.updated_at";
        let params = [
            resource.into(),
            id.into(),
            (&row.fields).into(),
            row.version.into(),
            row.state.into(),
            row.created_at.into(),
            row.updated_at.into(),
        ];
        self.connection.execute(sql, &params)?;
        // The first version of an id has no predecessor in `deleted`.
        if row.version > 1 {
            let sql = "DELETE FROM deleted WHERE resource = ?1 AND id = ?2";
            self.connection.execute(sql, &[resource.into(), id.into()])?;
        }
        Ok(())
    }

    /// Deletes a record if it exists, and stores its version and the new state.
    pub(crate) fn remove(&self, resource: &str, id: &str, state: u64) -> Result<()> {
        let sql = "INSERT INTO deleted (resource, id, version, state, at)
             SELECT resource, id, version, ?3, ?4 FROM records WHERE resource = ?1 AND id = ?2
             ON CONFLICT (resource, id) DO UPDATE SET
                 version = excluded.version, state = excluded.state, at = excluded.at";
        let params = [resource.into(), id.into(), state.into(), now().into()];
        self.connection.execute(sql, &params)?;
        let sql = "DELETE FROM records WHERE resource = ?1 AND id = ?2";
        self.connection.execute(sql, &[resource.into(), id.into()])?;
        Ok(())
    }

    /// Stores a request under an id that the caller has not used.
    pub(crate) fn log(&self, caller: &str, request_id: &str, request: &Request) -> Result<()> {
        let sql = "INSERT INTO requests (caller, request_id, resource, command, id, asked,
                 before_fields, before_version, before_state, before_created_at, before_updated_at,
                 after_state, after_deleted, reply, reverted, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
        let before = request.before.record();
        let (StateId::Record(before_state) | StateId::Absent(before_state)) =
            request.before.state_id();
        let (StateId::Record(after_state) | StateId::Absent(after_state)) = request.after;
        let params = [
            caller.into(),
            request_id.into(),
            (&request.resource).into(),
            (&request.command).into(),
            (&request.id).into(),
            (&request.content).into(),
            before.map(|row| &row.fields).into(),
            request.before.version().into(),
            before_state.into(),
            before.map(|row| row.created_at).into(),
            before.map(|row| row.updated_at).into(),
            after_state.into(),
            matches!(request.after, StateId::Absent(_)).into(),
            (&request.reply).into(),
            request.reverted.into(),
            request.at.into(),
        ];
        self.connection.execute(sql, &params)?;
        Ok(())
    }

    /// Marks a request as reverted.
    pub(crate) fn mark_reverted(&self, caller: &str, request_id: &str) -> Result<()> {
        let sql = "UPDATE requests SET reverted = TRUE WHERE caller = ?1 AND request_id = ?2";
        self.connection.execute(sql, &[caller.into(), request_id.into()])?;
        Ok(())
    }
}
