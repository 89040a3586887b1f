use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::deadline::Deadline;
use super::task::{Pending, Task, task};
use crate::error::Error;

/// Tasks that wait for a thread, first in first out.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    bound: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Box<dyn Task>>,
    is_closed: bool,
}

impl Queue {
    pub(super) fn new(bound: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), bound }
    }

    /// Lets `work` wait for a thread, unless too many wait already.
    pub(super) fn enqueue<T: Send + 'static>(
        &self,
        deadline: Deadline,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<Pending<T>, Error> {
        let (task, pending) = task(deadline, work);
        let mut state = self.state();
        if state.is_closed {
            return Err(Error::Closed);
        }
        if state.waiting.len() >= self.bound {
            // Those whose callers have gone wait for nothing.
            state.waiting.retain(|task| !task.claim().is_abandoned());
        }
        if state.waiting.len() >= self.bound {
            return Err(Error::Busy);
        }
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
        waited.unwrap_or_else(PoisonError::into_inner).waiting.pop_front()
    }

    /// The next task, if there is one now.
    pub(super) fn take_now(&self) -> Option<Box<dyn Task>> {
        self.state().waiting.pop_front()
    }

    /// Takes no more tasks, and lets the threads end once those that wait are done.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Nothing panics while it holds this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
