use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::Entry;
use super::filter::{Filter, Page};

/// The newest entries, oldest first, within two bounds.
#[derive(Debug)]
pub(super) struct Ring {
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    max_entries: usize,
    max_bytes: usize,
    newest: u64,
}

/// What is next for whoever has read up to a number.
pub(super) enum Next {
    Entry(Arc<Entry>),
    /// So many are gone.
    Lost(u64),
    /// There is none yet.
    None,
}

impl Ring {
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Self {
        let max_entries = max_entries.max(1);
        Self { entries: VecDeque::new(), bytes: 0, max_entries, max_bytes, newest: 0 }
    }

    /// Takes an entry, gives it its number, and forgets the oldest ones that it leaves no room for.
    pub(super) fn push(&mut self, mut entry: Entry) -> u64 {
        self.newest += 1;
        entry.sequence = self.newest;
        self.bytes += entry.weight();
        self.entries.push_back(Arc::new(entry));
        while self.entries.len() > 1
            && (self.entries.len() > self.max_entries || self.bytes > self.max_bytes)
        {
            self.bytes -= self.entries.pop_front().map_or(0, |oldest| oldest.weight());
        }
        self.newest
    }

    /// The number of the newest entry; 0 before there is one.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    pub(super) fn after(&self, sequence: u64) -> Next {
        let oldest = self.newest + 1 - self.entries.len() as u64;
        if sequence + 1 < oldest {
            return Next::Lost(oldest - sequence - 1);
        }
        let index = usize::try_from(sequence + 1 - oldest).ok();
        let entry = index.and_then(|index| self.entries.get(index));
        entry.map_or(Next::None, |entry| Next::Entry(Arc::clone(entry)))
    }

    pub(super) fn page(&self, filter: &Filter) -> Page {
        let mut fitting = self.entries.iter().rev().filter(|entry| filter.fits(entry));
        let entries: Vec<_> = fitting.by_ref().take(filter.limit).cloned().collect();
        // There is a next page only if something would stand on it.
        let has_more = fitting.next().is_some();
        let next = entries.last().filter(|_| has_more).map(|entry| entry.sequence);
        Page { entries, next }
    }
}
