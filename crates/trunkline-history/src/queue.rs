use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::entry::Entry;
use crate::stats::Counters;

/// A bounded queue of entries to be written.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Arc<Entry>>,
    bytes: usize,
    /// The counters of entries lost because the queue was full. They are separate from those of the log, so
    /// that calls do not wait for the writer.
    lost: Option<Box<Counters>>,
    is_closed: bool,
}

/// The state of the queue after entries were taken.
#[derive(Debug)]
pub(super) struct Taken {
    /// The counters of entries lost after the taken ones, if any.
    pub(super) lost: Option<Box<Counters>>,
    /// Whether the queue is closed.
    pub(super) is_last: bool,
}

/// The time to collect further entries, so that a busy server does not wake the writer for each entry.
const COLLECT: Duration = Duration::from_millis(20);

impl Queue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), max_bytes }
    }

    /// Adds an entry, or counts it as lost. Returns false if the queue is closed.
    pub(crate) fn push(&self, entry: &Arc<Entry>) -> bool {
        let mut state = lock(&self.state);
        if state.is_closed {
            return false;
        }
        let bytes = state.bytes + entry.weight();
        // After a lost entry, nothing is added until the writer has been notified of it.
        if state.lost.is_some() || (bytes > self.max_bytes && !state.entries.is_empty()) {
            state.lost.get_or_insert_with(|| Box::new(Counters::new())).count_lost(entry);
            return true;
        }
        let was_low = !self.is_high(&state);
        let was_empty = state.entries.is_empty();
        state.bytes = bytes;
        state.entries.push(Arc::clone(entry));
        if was_empty || (was_low && self.is_high(&state)) {
            drop(state);
            self.changed.notify_one();
        }
        true
    }

    /// Moves all queued entries to `entries`, which must be empty. Blocks until there are entries or the
    /// queue is closed.
    pub(super) fn take(&self, entries: &mut Vec<Arc<Entry>>) -> Taken {
        let is_idle = |state: &mut State| state.entries.is_empty() && !state.is_closed;
        let state = lock(&self.state);
        let state = self.changed.wait_while(state, is_idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let may_collect = |state: &mut State| !self.is_high(state) && !state.is_closed;
        let state = self.changed.wait_timeout_while(state, COLLECT, may_collect);
        let (mut state, _) = state.unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut state.entries, entries);
        state.bytes = 0;
        Taken { lost: mem::take(&mut state.lost), is_last: state.is_closed }
    }

    /// Closes the queue for further entries.
    pub(super) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.changed.notify_one();
    }

    /// Whether the queue is more than half full.
    fn is_high(&self, state: &State) -> bool {
        state.bytes > self.max_bytes / 2
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
