use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::deadline::Deadline;
use super::task::{Pending, Task, task};
use crate::error::Error;
use crate::settings::Settings;

/// Tasks that wait for a thread, first in first out.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    bound: usize,
    max_bytes: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Box<dyn Task>>,
    /// Of those that wait.
    bytes: usize,
    is_closed: bool,
}

impl Queue {
    /// A queue of at most `bound` tasks with at most `max_bytes`.
    pub(super) fn new(bound: usize, max_bytes: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), bound, max_bytes }
    }

    /// Lets `work` wait for a thread, unless too many wait already.
    pub(super) fn enqueue<T: Send + 'static>(
        &self,
        deadline: Deadline,
        bytes: usize,
        work: impl FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<Pending<T>, Error> {
        let (task, pending) = task(deadline, bytes, work);
        let mut state = self.state();
        if state.is_closed {
            return Err(Error::Closed);
        }
        if !self.has_room(&state, bytes) {
            // Those whose callers have gone wait for nothing.
            state.waiting.retain(|task| !task.claim().is_abandoned());
            state.bytes = state.waiting.iter().map(|task| task.bytes()).sum();
        }
        if !self.has_room(&state, bytes) {
            return Err(Error::Busy);
        }
        state.bytes += bytes;
        state.waiting.push_back(task);
        drop(state);
        self.changed.notify_one();
        Ok(pending)
    }

    /// The next task, as soon as there is one; none when the queue is closed and empty.
    pub(super) fn take(&self) -> Option<Box<dyn Task>> {
        let state = self.state();
        let waited =
            self.changed.wait_while(state, |state| state.waiting.is_empty() && !state.is_closed);
        waited.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The next task, if there is one now.
    pub(super) fn take_now(&self) -> Option<Box<dyn Task>> {
        self.state().take()
    }

    /// Takes no more tasks, and lets the threads end once those that wait are done.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    fn has_room(&self, state: &State, bytes: usize) -> bool {
        state.waiting.len() < self.bound && state.bytes.saturating_add(bytes) <= self.max_bytes
    }

    /// Nothing panics while it holds this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self) -> Option<Box<dyn Task>> {
        let task = self.waiting.pop_front()?;
        self.bytes -= task.bytes();
        Some(task)
    }
}

/// Limits scans to fewer than there are readers, so that reads of one record do not wait for those of many.
pub(super) struct ScanLimit {
    running: Arc<Semaphore>,
    waiting: Semaphore,
}

impl ScanLimit {
    pub(super) fn new(settings: &Settings) -> Self {
        let bound = |number: usize| Semaphore::new(number.min(Semaphore::MAX_PERMITS));
        Self {
            running: Arc::new(bound(settings.readers.saturating_sub(1).max(1))),
            waiting: bound(settings.read_queue),
        }
    }

    /// Waits for the permit that a scan holds while it runs, unless too many wait already.
    pub(super) async fn acquire(
        &self,
        deadline: Deadline,
        cancel: &CancellationToken,
    ) -> Result<OwnedSemaphorePermit, Error> {
        let _place = self.waiting.try_acquire().map_err(|_| Error::Busy)?;
        let permit = deadline.in_time(cancel, Arc::clone(&self.running).acquire_owned()).await?;
        permit.map_err(|_| Error::Closed)
    }
}
