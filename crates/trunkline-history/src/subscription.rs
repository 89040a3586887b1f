use std::fmt;

use super::ring::Update;
use crate::history::History;

impl History {
    /// The entries that come from now on.
    #[must_use]
    pub fn subscribe(&self) -> Subscription {
        let newest = self.ring().newest();
        self.subscribe_after(newest)
    }

    /// The entries behind the one of this number: those that are still kept, then those that come. For
    /// subscribers that come again.
    #[must_use]
    pub fn subscribe_after(&self, sequence: u64) -> Subscription {
        // A number that was not given out yet is of an earlier history, so nothing of this was read.
        let read = if sequence > self.ring().newest() { 0 } else { sequence };
        Subscription { history: self.clone(), read }
    }
}

/// A reader of the entries as they come.
///
/// It has no buffer of its own: it reads what the history keeps, and a reader that is too slow is
/// told how many entries it has missed.
pub struct Subscription {
    history: History,
    /// The number of the entry that was read last.
    read: u64,
}

impl Subscription {
    /// The number of the entry that was read last; of lost ones, that of the last of them.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Waits for the next entry.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Update {
        loop {
            // Made before the look, so that an entry that comes between the two is not missed.
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
