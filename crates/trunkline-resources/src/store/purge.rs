use std::time::{Duration, Instant, SystemTime};

use rusqlite::Connection;
use tracing::warn;

use super::group::savepoint;
use super::writing::milliseconds;
use crate::settings::Settings;

/// Takes away the requests and the versions of deleted records that need not be remembered any more, in
/// bites that no other command notices.
pub(super) struct Purge {
    remember: Duration,
    bite: u32,
    time: Duration,
    next: Instant,
}

/// Rows of each table that one bite takes.
pub(super) const BITE: u32 = 500;

const PAUSE: Duration = Duration::from_secs(60);

impl Purge {
    /// A purge that is due.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            remember: settings.remember,
            // No less than one commit adds, and for no less time than that takes, so that the tables cannot
            // outgrow the purge.
            bite: BITE.max(u32::try_from(settings.group).unwrap_or(u32::MAX)),
            time: settings.purge_time,
            next: Instant::now(),
        }
    }

    /// Takes a bite in the transaction of the connection, which took so long until now. The next one is due in a minute, or at once if
    /// there is more. The error is that of the transaction; its own is undone, and tried again.
    pub(super) fn bite_if_due(
        &mut self,
        connection: &Connection,
        transaction: Duration,
    ) -> rusqlite::Result<()> {
        let now = Instant::now();
        if now < self.next {
            return Ok(());
        }
        self.next = now + PAUSE;
        savepoint(connection, || match self.bite(connection, self.time.max(transaction)) {
            Ok(is_last) => {
                self.next = if is_last { self.next } else { now };
                true
            }
            Err(error) => {
                warn!(%error, "what need not be remembered could not be purged");
                false
            }
        })
    }

    /// True if there is no more. Of large rows, it takes fewer: as many as can be had in this time.
    fn bite(&self, connection: &Connection, time: Duration) -> rusqlite::Result<bool> {
        let since = Instant::now();
        let remember = i64::try_from(self.remember.as_millis()).unwrap_or(i64::MAX);
        let before = milliseconds(SystemTime::now()).saturating_sub(remember);
        let mut request = connection.prepare_cached(
            "DELETE FROM requests WHERE (caller, request_id) =
                 (SELECT caller, request_id FROM requests WHERE at < ?1 ORDER BY at LIMIT 1)",
        )?;
        let mut deleted = connection.prepare_cached(
            "DELETE FROM deleted WHERE (resource, id) =
                 (SELECT resource, id FROM deleted WHERE at < ?1 ORDER BY at LIMIT 1)",
        )?;
        for _ in 0..self.bite {
            if request.execute([before])? + deleted.execute([before])? == 0 {
                return Ok(true);
            }
            if since.elapsed() >= time {
                break;
            }
        }
        Ok(false)
    }
}
