use std::fmt;
use std::sync::Arc;

use super::entry::Entry;
use super::ring::Next;
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
        Subscription::new(self.clone(), sequence)
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

/// What a [`Subscription`] tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// The next entry.
    Entry(Arc<Entry>),
    /// So many entries were forgotten before they were read: the next ones.
    Lost(u64),
}

impl Subscription {
    pub(super) fn new(history: History, read: u64) -> Self {
        // A number that was not given out yet is of an earlier history, so nothing of this was read.
        let read = if read > history.ring().newest() { 0 } else { read };
        Self { history, read }
    }

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
            match next {
                Next::Entry(entry) => {
                    self.read = entry.sequence;
                    return Update::Entry(entry);
                }
                Next::Lost(count) => {
                    self.read += count;
                    return Update::Lost(count);
                }
                Next::None => added.await,
            }
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("read", &self.read).finish_non_exhaustive()
    }
}
