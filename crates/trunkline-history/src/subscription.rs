use std::fmt;

use super::ring::Update;
use crate::history::History;

impl History {
    /// Subscribes to further entries.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        let newest = self.ring().newest();
        self.subscribe_after(newest)
    }

    /// Subscribes to the entries after this sequence number: the kept ones, then further ones. For
    /// subscribers that reconnect.
    #[must_use]
    pub fn subscribe_after(&self, sequence: u64) -> Subscription {
        // A number that has not been assigned yet belongs to an earlier history.
        let read = if sequence > self.ring().newest() { 0 } else { sequence };
        Subscription { history: self.clone(), read }
    }
}

/// A subscription to new entries.
///
/// It has no separate buffer: it reads from the history, and a subscriber that is too slow receives the
/// number of entries it has missed.
pub struct Subscription {
    history: History,
    /// The sequence number of the last entry that was read.
    read: u64,
}

impl Subscription {
    /// The sequence number of the last entry that was read or lost.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Waits for the next entry.
    ///
    /// # Cancel safety
    /// No entry is lost when the future is dropped.
    pub async fn next(&mut self) -> Update {
        loop {
            // Created before the check, so that an entry added in between is not missed.
            let added = self.history.0.added.notified();
            let next = self.history.ring().after(self.read);
            let Some(update) = next else {
                added.await;
                continue;
            };
            self.read += match &update {
                Update::Entry(_) => 1,
                Update::Lost(count) => *count,
            };
            return update;
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("read", &self.read).finish_non_exhaustive()
    }
}
