use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::Entry;
use super::filter::{Filter, Page};
use crate::queue::{Logged, Queue};

/// The most recent entries, oldest first, limited in number and bytes.
#[derive(Debug)]
pub(super) struct Ring {
    /// Ordered by sequence number, with gaps where refusals were removed before calls.
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    max_entries: usize,
    max_bytes: usize,
    newest: u64,
    refusals: Refusals,
    /// The queues of logs, which also receive each entry.
    queues: Vec<Arc<Queue<Logged>>>,
}

/// The refusals among the entries. They are limited to a share of the ring, since unauthorized clients can
/// cause any number of them.
#[derive(Debug, Default)]
struct Refusals {
    /// The sequence numbers, oldest first.
    numbers: VecDeque<u64>,
    bytes: usize,
}

/// The divisor of both limits that gives the share of refusals.
const SHARE_OF_REFUSALS: usize = 4;

/// The next item of a [`Subscription`](crate::Subscription).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// The next entry.
    Entry(Arc<Entry>),
    /// The number of following entries that were removed before they were read.
    Lost(u64),
}

impl Ring {
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Self {
        let max_entries = max_entries.max(1);
        let (entries, refusals) = (VecDeque::new(), Refusals::default());
        let queues = Vec::new();
        Self { entries, bytes: 0, max_entries, max_bytes, newest: 0, refusals, queues }
    }

    /// Adds a queue that receives all further entries until it is closed.
    pub(super) fn queue_to(&mut self, queue: Arc<Queue<Logged>>) {
        self.queues.push(queue);
    }

    /// Adds an entry, assigns its sequence number, and removes the oldest entries beyond the limits.
    pub(super) fn push(&mut self, mut entry: Arc<Entry>) -> u64 {
        self.newest += 1;
        // The entry is not shared yet, so this does not copy it.
        Arc::make_mut(&mut entry).sequence = self.newest;
        self.bytes += entry.weight();
        if entry.is_refusal() {
            self.refusals.numbers.push_back(entry.sequence);
            self.refusals.bytes += entry.weight();
        }
        self.queues.retain(|queue| queue.push_entry(&entry));
        self.entries.push_back(entry);
        while self.has_too_many_refusals() {
            let oldest = self.refusals.numbers.front().copied().unwrap_or_default();
            self.remove(self.index_after(oldest - 1));
        }
        while self.entries.len() > 1
            && (self.entries.len() > self.max_entries || self.bytes > self.max_bytes)
        {
            self.remove(0);
        }
        self.newest
    }

    fn has_too_many_refusals(&self) -> bool {
        let Refusals { numbers, bytes } = &self.refusals;
        numbers.len() > 1
            && (numbers.len() > self.max_entries / SHARE_OF_REFUSALS
                || *bytes > self.max_bytes / SHARE_OF_REFUSALS)
    }

    fn remove(&mut self, index: usize) {
        let Some(entry) = self.entries.remove(index) else {
            return;
        };
        self.bytes -= entry.weight();
        if entry.is_refusal() {
            // Refusals are also removed in order.
            self.refusals.numbers.pop_front();
            self.refusals.bytes -= entry.weight();
        }
    }

    /// The index of the first entry after a sequence number.
    fn index_after(&self, sequence: u64) -> usize {
        self.entries.partition_point(|entry| entry.sequence <= sequence)
    }

    /// The sequence number of the newest entry, or 0 for an empty ring.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// The next item after a sequence number.
    pub(super) fn after(&self, sequence: u64) -> Option<Update> {
        let entry = self.entries.get(self.index_after(sequence))?;
        Some(match entry.sequence - sequence {
            1 => Update::Entry(Arc::clone(entry)),
            distance => Update::Lost(distance - 1),
        })
    }

    pub(super) fn page(&self, filter: &Filter) -> Page {
        let mut matching = self.entries.iter().rev().filter(|entry| filter.matches(entry));
        let entries: Vec<_> = matching.by_ref().take(filter.limit).cloned().collect();
        // There is a next page only if it has an entry.
        let next = matching.next().map(|older| match entries.last() {
            Some(last) => last.sequence,
            None => older.sequence + 1,
        });
        Page { entries, next }
    }
}
