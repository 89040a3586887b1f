use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::lock::Lock;
use crate::nodes::Nodes;
use crate::task_group::TaskGroup;

/// The writes to the store of a single server, which a task makes later: of sessions with state that their ids do not
/// carry, and of sessions that their clients have ended.
#[derive(Debug)]
pub(crate) struct SavedSessions {
    pub(crate) store: Arc<dyn Nodes>,
    pending: Lock<HashMap<String, PendingWrite>>,
    max_pending: usize,
    /// Notified when a write is added.
    pub(crate) changed: Notify,
    /// The task that writes.
    pub(crate) tasks: TaskGroup,
}

/// A write that is pending.
#[derive(Debug, Clone)]
pub(crate) enum PendingWrite {
    /// The state of the session at the time of the write.
    State,
    /// The end of a session in the share of this caller.
    End { caller: String },
}

/// A session whose state the store may have.
#[derive(Debug)]
pub(super) struct SavedSession {
    id: String,
    sessions: Arc<SavedSessions>,
    /// Whether the store has the session.
    is_stored: AtomicBool,
}

impl SavedSessions {
    /// At most `max_pending` sessions have a pending write. The state of others is not saved.
    pub(crate) fn new(store: Arc<dyn Nodes>, max_pending: usize) -> Self {
        let (pending, changed, tasks) = Default::default();
        Self { store, pending, max_pending, changed, tasks }
    }

    /// Adds a write. A later one of the same session replaces an earlier one, but nothing replaces the end.
    pub(crate) fn add(&self, id: &str, write: PendingWrite) {
        let mut pending = self.pending.lock();
        let is_full = pending.len() >= self.max_pending;
        match pending.get_mut(id) {
            Some(PendingWrite::End { .. }) => return,
            Some(found) => *found = write,
            None if is_full => {
                tracing::debug!("the state of a session is not saved: too many writes are pending");
                return;
            }
            None => {
                pending.insert(id.to_owned(), write);
            }
        }
        drop(pending);
        self.changed.notify_one();
    }

    /// Removes and returns the pending writes.
    pub(crate) fn take(&self) -> HashMap<String, PendingWrite> {
        std::mem::take(&mut *self.pending.lock())
    }
}

impl SavedSession {
    pub(super) fn new(id: &str, sessions: &Arc<SavedSessions>) -> Self {
        let (id, sessions) = (id.to_owned(), Arc::clone(sessions));
        Self { id, sessions, is_stored: AtomicBool::new(false) }
    }

    pub(super) fn is_stored(&self) -> bool {
        self.is_stored.load(Ordering::Relaxed)
    }

    pub(super) fn set_stored(&self) {
        self.is_stored.store(true, Ordering::Relaxed);
    }

    pub(super) fn save(&self) {
        self.set_stored();
        self.sessions.add(&self.id, PendingWrite::State);
    }

    pub(super) fn end(&self, caller: &str) {
        self.sessions.add(&self.id, PendingWrite::End { caller: caller.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn writes_are_merged_and_limited() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::nodes::StoredNodes::deferred(folder.path(), Duration::from_secs(60));
        let saved = SavedSessions::new(Arc::new(store), 2);
        let end = || PendingWrite::End { caller: "c".to_owned() };
        for (id, write) in [
            ("a", PendingWrite::State),
            ("a", PendingWrite::State),
            ("b", end()),
            ("b", PendingWrite::State),
            ("c", PendingWrite::State),
            ("a", end()),
        ] {
            saved.add(id, write);
        }
        let mut taken: Vec<_> = saved.take().into_iter().collect();
        taken.sort_by(|a, b| a.0.cmp(&b.0));
        assert!(matches!(
            &taken[..],
            [(a, PendingWrite::End { .. }), (b, PendingWrite::End { .. })] if a == "a" && b == "b"
        ));
        assert!(saved.take().is_empty());
    }
}
