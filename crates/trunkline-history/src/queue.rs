use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::entry::Entry;
use crate::stats::Counters;

/// Entries that wait to be written, within a bound of bytes.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    entries: Vec<Arc<Entry>>,
    bytes: usize,
    /// Those that came behind them and found no room. Calls wait for nobody who counts others.
    lost: Option<Box<Counters>>,
    is_closed: bool,
}

/// What was taken from a queue, besides entries.
#[derive(Debug)]
pub(super) struct Taken {
    /// The entries that are missing behind those that were taken, if any are.
    pub(super) lost: Option<Box<Counters>>,
    /// Whether nothing more comes.
    pub(super) is_last: bool,
}

/// Entries wait so long for others, so that a busy server does not wake a thread for each.
const LINGER: Duration = Duration::from_millis(20);

impl Queue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { waiting: Mutex::default(), changed: Condvar::new(), max_bytes }
    }

    /// Adds an entry, or counts it as lost, and returns whether the queue takes any more.
    pub(crate) fn push(&self, entry: &Arc<Entry>) -> bool {
        let mut waiting = lock(&self.waiting);
        if waiting.is_closed {
            return false;
        }
        let bytes = waiting.bytes + entry.weight();
        // Behind what is lost, nothing is added until that is told.
        if waiting.lost.is_some() || (bytes > self.max_bytes && !waiting.entries.is_empty()) {
            waiting.lost.get_or_insert_with(|| Box::new(Counters::new())).lose(entry);
            return true;
        }
        let was_low = !self.is_high(&waiting);
        let was_empty = waiting.entries.is_empty();
        waiting.bytes = bytes;
        waiting.entries.push(Arc::clone(entry));
        if was_empty || (was_low && self.is_high(&waiting)) {
            drop(waiting);
            self.changed.notify_one();
        }
        true
    }

    /// Takes all that waits in place of `entries`, which are none. Blocks until there is something.
    pub(super) fn take(&self, entries: &mut Vec<Arc<Entry>>) -> Taken {
        let is_idle = |waiting: &mut Waiting| waiting.entries.is_empty() && !waiting.is_closed;
        let waiting = lock(&self.waiting);
        let waiting = self.changed.wait_while(waiting, is_idle);
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let is_calm = |waiting: &mut Waiting| !self.is_high(waiting) && !waiting.is_closed;
        let waiting = self.changed.wait_timeout_while(waiting, LINGER, is_calm);
        let (mut waiting, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut waiting.entries, entries);
        waiting.bytes = 0;
        Taken { lost: mem::take(&mut waiting.lost), is_last: waiting.is_closed }
    }

    /// Takes no more entries.
    pub(super) fn close(&self) {
        lock(&self.waiting).is_closed = true;
        self.changed.notify_one();
    }

    /// Whether they cannot wait any longer.
    fn is_high(&self, waiting: &Waiting) -> bool {
        waiting.bytes > self.max_bytes / 2
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
