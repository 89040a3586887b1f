use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::Entry;
use super::filter::{Filter, Page};
use crate::queue::Queue;

/// The newest entries, oldest first, within two bounds.
#[derive(Debug)]
pub(super) struct Ring {
    /// By number. Some are missing, of refusals that were forgotten before calls.
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    max_entries: usize,
    max_bytes: usize,
    newest: u64,
    refusals: Refusals,
    /// Where entries go besides.
    queues: Vec<Arc<Queue>>,
}

/// The refusals among the entries. Whoever may not call can still be refused without end, so these
/// have only a share of the room.
#[derive(Debug, Default)]
struct Refusals {
    /// Their numbers, oldest first.
    numbers: VecDeque<u64>,
    bytes: usize,
}

/// The part of both bounds that refusals may take.
const SHARE_OF_REFUSALS: usize = 4;

/// The next item of a [`Subscription`](crate::Subscription).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// The next entry.
    Entry(Arc<Entry>),
    /// The number of entries that were removed before they were read: the next ones.
    Lost(u64),
}

impl Ring {
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Self {
        let max_entries = max_entries.max(1);
        let (entries, refusals) = (VecDeque::new(), Refusals::default());
        let queues = Vec::new();
        Self { entries, bytes: 0, max_entries, max_bytes, newest: 0, refusals, queues }
    }

    /// Has all that is taken from now on go to a queue, too, until that is closed.
    pub(super) fn queue_to(&mut self, queue: Arc<Queue>) {
        self.queues.push(queue);
    }

    /// Takes an entry, gives it its number, and forgets the oldest ones that it leaves no room for.
    pub(super) fn push(&mut self, mut entry: Arc<Entry>) -> u64 {
        self.newest += 1;
        // It is not shared yet, so this copies nothing.
        Arc::make_mut(&mut entry).sequence = self.newest;
        self.bytes += entry.weight();
        if entry.is_refusal() {
            self.refusals.numbers.push_back(entry.sequence);
            self.refusals.bytes += entry.weight();
        }
        self.queues.retain(|queue| queue.push(&entry));
        self.entries.push_back(entry);
        while self.has_too_many_refusals() {
            let oldest = self.refusals.numbers.front().copied().unwrap_or_default();
            self.forget(self.behind(oldest - 1));
        }
        while self.entries.len() > 1
            && (self.entries.len() > self.max_entries || self.bytes > self.max_bytes)
        {
            self.forget(0);
        }
        self.newest
    }

    fn has_too_many_refusals(&self) -> bool {
        let Refusals { numbers, bytes } = &self.refusals;
        numbers.len() > 1
            && (numbers.len() > self.max_entries / SHARE_OF_REFUSALS
                || *bytes > self.max_bytes / SHARE_OF_REFUSALS)
    }

    fn forget(&mut self, index: usize) {
        let Some(entry) = self.entries.remove(index) else {
            return;
        };
        self.bytes -= entry.weight();
        if entry.is_refusal() {
            // Refusals are forgotten in their order, too.
            self.refusals.numbers.pop_front();
            self.refusals.bytes -= entry.weight();
        }
    }

    /// The place of the first entry behind a number.
    fn behind(&self, sequence: u64) -> usize {
        self.entries.partition_point(|entry| entry.sequence <= sequence)
    }

    /// The number of the newest entry; 0 before there is one.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// The next item for a reader that has read up to a number.
    pub(super) fn after(&self, sequence: u64) -> Option<Update> {
        let entry = self.entries.get(self.behind(sequence))?;
        Some(match entry.sequence - sequence {
            1 => Update::Entry(Arc::clone(entry)),
            distance => Update::Lost(distance - 1),
        })
    }

    pub(super) fn page(&self, filter: &Filter) -> Page {
        let mut fitting = self.entries.iter().rev().filter(|entry| filter.fits(entry));
        let entries: Vec<_> = fitting.by_ref().take(filter.limit).cloned().collect();
        // There is a next page only if something would stand on it.
        let next = fitting.next().map(|older| match entries.last() {
            Some(last) => last.sequence,
            None => older.sequence + 1,
        });
        Page { entries, next }
    }
}
