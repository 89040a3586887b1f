//! The store of the sessions of a single server. It has what their ids do not carry, and is written in the background.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep, sleep_until};

use super::nodes::record_of;
use super::{Mcp, Server};
use crate::nodes::{NodesError, SessionRecord};
use crate::session::{PendingWrite, SavedSessions};

/// The wait after writes, in which further ones are merged.
const PAUSE: Duration = Duration::from_millis(100);

/// The wait after a failed write.
const RETRY: Duration = Duration::from_secs(1);

/// The interval in which stored sessions that were used are recorded as used.
const KEEP_INTERVAL: Duration = Duration::from_secs(60);

/// The maximum time to write the last changes when the server stops.
const LAST_WRITES: Duration = Duration::from_secs(2);

impl Mcp {
    /// Begins to write the sessions to [`McpConfig::session_store`](crate::McpConfig::session_store), until
    /// [`stop_saving_sessions`](Self::stop_saving_sessions). Without effect if it is not set. Call it in a runtime.
    pub fn save_sessions(&self) {
        if let Some(saved) = &self.0.saved {
            saved.tasks.spawn_to_end(write_changes(Arc::downgrade(&self.0), Arc::clone(saved)));
        }
    }

    /// Writes the last changes of sessions. Call it after the server over HTTP has stopped.
    pub async fn stop_saving_sessions(&self) {
        let Some(saved) = &self.0.saved else { return };
        if saved.tasks.close(LAST_WRITES).await > 0 {
            tracing::warn!("the last changes of sessions were not written in time");
        }
    }
}

/// Writes changes until the server stops.
async fn write_changes(server: Weak<Server>, saved: Arc<SavedSessions>) {
    let mut last_kept = Instant::now();
    loop {
        let is_closing = tokio::select! {
            () = saved.tasks.closing().cancelled() => true,
            () = saved.changed.notified() => false,
            () = sleep_until(last_kept + KEEP_INTERVAL) => false,
        };
        let Some(server) = server.upgrade() else { return };
        let written = server.write_pending(&saved).await;
        if last_kept.elapsed() >= KEEP_INTERVAL {
            last_kept = Instant::now();
            server.keep_stored(&saved).await;
        }
        drop(server);
        if is_closing {
            return;
        }
        let wait = if written.is_ok() { PAUSE } else { RETRY };
        saved.tasks.closing().run_until_cancelled(sleep(wait)).await;
    }
}

impl Server {
    /// Makes the pending writes. Those that fail temporarily are pending again.
    async fn write_pending(&self, saved: &SavedSessions) -> Result<(), NodesError> {
        let max = self.sessions.max();
        let writes = saved.take().into_iter().filter_map(|(id, write)| {
            let record = match &write {
                PendingWrite::End { caller } => {
                    let caller = caller.clone();
                    SessionRecord { caller, is_ended: true, ..SessionRecord::default() }
                }
                // One that was removed in the meantime is not written.
                PendingWrite::State => record_of(&*self.sessions.get(&id)?),
            };
            Some((id, write, record))
        });
        let written = join_all(writes.map(async |(id, write, record)| {
            let written = saved.store.create_session(id.clone(), record, max).await;
            if let Err(NodesError::Temporary(_)) = written {
                saved.add(&id, write);
            }
            written
        }));
        match written.await.into_iter().find_map(Result::err) {
            None => Ok(()),
            Some(error) => {
                error.log("the state of sessions cannot be saved");
                Err(error)
            }
        }
    }

    /// Records the stored sessions that were used as used, so that they do not expire in the store.
    async fn keep_stored(&self, saved: &SavedSessions) {
        let ids = self.sessions.stored_ids(KEEP_INTERVAL * 2);
        if !ids.is_empty()
            && let Err(error) = saved.store.keep_sessions(ids).await
        {
            error.log("sessions in use cannot be recorded");
        }
    }
}
