//! The bounded queues of logs, and the threads that write them.

use std::io;
use std::mem;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::entry::Entry;
use crate::stats::Counters;

/// A bounded queue of items that a [`WriterThread`] writes.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    max: usize,
    collect: Duration,
    /// The reason why the last items were not written.
    problem: Mutex<Option<String>>,
}

#[derive(Debug)]
struct State<T> {
    items: Vec<T>,
    size: usize,
    is_closed: bool,
}

impl<T> Queue<T> {
    /// A queue of items with this total size. The thread collects items for some time, so that a busy server does not
    /// wake it for each of them.
    pub(crate) fn new(max: usize, collect: Duration) -> Self {
        let state = State { items: Vec::new(), size: 0, is_closed: false };
        let (state, changed, problem) = (Mutex::new(state), Condvar::new(), Mutex::default());
        Self { state, changed, max, collect, problem }
    }

    /// Adds an item of this size: `add` gets the waiting items, and whether the item fits. Returns false if the queue is
    /// closed.
    pub(crate) fn push(&self, size: usize, add: impl FnOnce(&mut Vec<T>, bool)) -> bool {
        let mut state = lock(&self.state);
        if state.is_closed {
            return false;
        }
        let (was_empty, was_high) = (state.items.is_empty(), self.is_high(&state));
        state.size = state.size.saturating_add(size);
        let fits = state.size <= self.max;
        add(&mut state.items, fits);
        if was_empty || self.is_high(&state) != was_high {
            drop(state);
            self.changed.notify_one();
        }
        true
    }

    /// All waiting items. Blocks until there is one. `None` if the queue is closed and empty.
    pub(crate) fn take(&self) -> Option<Vec<T>> {
        let is_idle = |state: &mut State<T>| state.items.is_empty() && !state.is_closed;
        let state = self.changed.wait_while(lock(&self.state), is_idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let may_collect = |state: &mut State<T>| !self.is_high(state) && !state.is_closed;
        let state = self.changed.wait_timeout_while(state, self.collect, may_collect);
        let (mut state, _) = state.unwrap_or_else(PoisonError::into_inner);
        state.size = 0;
        Some(mem::take(&mut state.items)).filter(|items| !items.is_empty())
    }

    pub(crate) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.changed.notify_one();
    }

    /// Whether the queue is more than half full.
    fn is_high(&self, state: &State<T>) -> bool {
        state.size > self.max / 2
    }

    /// The reason why the last items could not be written. `None` once writing succeeds again.
    pub(crate) fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    /// Sets the reason, and returns whether writing has begun to fail, or to succeed again.
    pub(crate) fn set_problem(&self, problem: Option<String>) -> bool {
        let fails = problem.is_some();
        mem::replace(&mut *lock(&self.problem), problem).is_some() != fails
    }
}

/// An item of the log of a history.
#[derive(Debug)]
pub(crate) enum Logged {
    Entry(Arc<Entry>),
    /// The counters of entries that were lost because the queue was full. They are separate from those of the log, so
    /// that calls do not wait for the writer.
    Lost(Box<Counters>),
}

impl Queue<Logged> {
    /// Adds an entry, or counts it as lost. Returns false if the queue is closed.
    pub(crate) fn push_entry(&self, entry: &Arc<Entry>) -> bool {
        self.push(entry.weight(), |items, fits| match items.last_mut() {
            // After a lost entry, nothing is added until the writer has been notified of it.
            Some(Logged::Lost(lost)) => lost.count_lost(entry),
            Some(Logged::Entry(_)) if !fits => {
                let mut lost = Box::new(Counters::new());
                lost.count_lost(entry);
                items.push(Logged::Lost(lost));
            }
            _ => items.push(Logged::Entry(Arc::clone(entry))),
        })
    }
}

/// A thread that writes the items of a queue. When this is dropped, it writes the waiting items and ends.
pub(crate) struct WriterThread<T> {
    queue: Arc<Queue<T>>,
    /// Disconnected when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

impl<T: Send + 'static> WriterThread<T> {
    /// Starts a thread that calls `write` with all waiting items.
    pub(crate) fn start(
        name: &str,
        queue: Arc<Queue<T>>,
        mut write: impl FnMut(Vec<T>) + Send + 'static,
    ) -> io::Result<Self> {
        let (ends, ended) = channel();
        let waiting = Arc::clone(&queue);
        let run = move || {
            while let Some(items) = waiting.take() {
                write(items);
            }
            drop(ends);
        };
        thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Self { queue, ended: Mutex::new(ended) })
    }
}

impl<T> WriterThread<T> {
    pub(crate) fn queue(&self) -> &Arc<Queue<T>> {
        &self.queue
    }

    /// Writes the waiting items and ends the thread. Blocks for at most `timeout`, and returns whether all items were
    /// processed in that time.
    pub(crate) fn close(&self, timeout: Duration) -> bool {
        self.queue.close();
        lock(&self.ended).recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }
}

impl<T> Drop for WriterThread<T> {
    fn drop(&mut self) {
        self.queue.close();
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
