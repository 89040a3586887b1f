//! The queue between calls, which end spans, and the thread that exports them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::otlp::Span;

/// The spans that are not exported yet.
pub(super) struct SpanQueue {
    max: usize,
    batch: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    spans: Vec<Span>,
    is_stopping: bool,
}

impl SpanQueue {
    /// A queue of at most `max` spans, which are taken in batches.
    pub(super) fn new(max: usize, batch: usize) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { max, batch: batch.min(max), state, changed }
    }

    /// Adds a span, or drops it if the queue is full.
    pub(super) fn add(&self, span: Span) {
        let mut state = self.lock();
        if state.spans.len() < self.max {
            state.spans.push(span);
        }
        let is_batch = state.spans.len() == self.batch;
        drop(state);
        if is_batch {
            self.changed.notify_all();
        }
    }

    /// Ends the wait for further spans.
    pub(super) fn stop(&self) {
        self.lock().is_stopping = true;
        self.changed.notify_all();
    }

    /// Waits until there is a batch, the end, or an instant. Returns at most a batch, and whether this was the last.
    pub(super) fn next(&self, until: Instant) -> (Vec<Span>, bool) {
        let wait = until.saturating_duration_since(Instant::now());
        let is_waiting = |state: &mut State| state.spans.len() < self.batch && !state.is_stopping;
        let waited = self.changed.wait_timeout_while(self.lock(), wait, is_waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let count = state.spans.len().min(self.batch);
        let spans = state.spans.drain(..count).collect();
        (spans, state.is_stopping && state.spans.is_empty())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
