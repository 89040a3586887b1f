use std::time::{Duration, Instant};

use trunkline_storage::{Connection, StoreError};

use super::row::now;
use crate::config::RecordsConfig;

/// Deletes expired requests and versions of deleted records, in batches small enough not to delay other commands.
pub(super) struct Purge {
    remember: Duration,
    batch: u32,
    time: Duration,
    next: Instant,
}

/// The minimum number of rows of each table in a batch.
const BATCH: u32 = 500;

const PAUSE: Duration = Duration::from_secs(60);

impl Purge {
    /// A purge that is due.
    pub(super) fn new(config: &RecordsConfig) -> Self {
        Self {
            remember: config.remember,
            // A batch is at least as large as the additions of one commit, and may take as much time, so that the
            // tables cannot outgrow the purge.
            batch: BATCH.max(u32::try_from(config.store.group).unwrap_or(u32::MAX)),
            time: config.purge_time,
            next: Instant::now(),
        }
    }

    /// Deletes a batch in the current transaction, which has taken the time `transaction` so far. The next batch is due
    /// in a minute, or at once if there is more to delete.
    pub(super) fn run_if_due(
        &mut self,
        connection: &Connection,
        transaction: Duration,
    ) -> Result<(), StoreError> {
        let now = Instant::now();
        if now >= self.next {
            self.next = now + PAUSE;
            if !self.delete(connection, self.time.max(transaction))? {
                self.next = now;
            }
        }
        Ok(())
    }

    /// Deletes up to a batch of rows within `time`, and returns whether no expired ones are left.
    fn delete(&self, connection: &Connection, time: Duration) -> Result<bool, StoreError> {
        let since = Instant::now();
        let remember = i64::try_from(self.remember.as_millis()).unwrap_or(i64::MAX);
        let before = now().saturating_sub(remember);
        let request = "DELETE FROM requests WHERE (caller, request_id) =
            (SELECT caller, request_id FROM requests WHERE at < ?1 ORDER BY at LIMIT 1)";
        let deleted = "DELETE FROM deleted WHERE (resource, id) =
            (SELECT resource, id FROM deleted WHERE at < ?1 ORDER BY at LIMIT 1)";
        let before = [before.into()];
        for _ in 0..self.batch {
            if connection.execute(request, &before)? + connection.execute(deleted, &before)? == 0 {
                return Ok(true);
            }
            if since.elapsed() >= time {
                break;
            }
        }
        Ok(false)
    }
}
