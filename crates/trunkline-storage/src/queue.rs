use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::error::{OpenError, StoreError};
use crate::task::Task;

/// A queue of tasks for threads, first in first out.
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    max_tasks: usize,
    max_bytes: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Box<dyn Task>>,
    /// The bytes of the waiting tasks.
    bytes: usize,
    is_closed: bool,
}

impl Queue {
    pub(crate) fn new(max_tasks: usize, max_bytes: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), max_tasks, max_bytes }
    }

    /// Adds a task, unless the queue is full.
    pub(crate) fn push(&self, task: Box<dyn Task>) -> Result<(), StoreError> {
        let bytes = task.claim().bytes;
        let mut state = self.state();
        if state.is_closed {
            return Err(StoreError::Closed);
        }
        if !self.has_capacity(&state, bytes) {
            state.waiting.retain(|task| !task.claim().is_abandoned());
            state.bytes = state.waiting.iter().map(|task| task.claim().bytes).sum();
        }
        if !self.has_capacity(&state, bytes) {
            return Err(StoreError::Busy);
        }
        state.bytes += bytes;
        state.waiting.push_back(task);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for the next task. `None` when the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<Box<dyn Task>> {
        let state = self.state();
        let is_idle = |state: &mut State| state.waiting.is_empty() && !state.is_closed;
        let waited = self.changed.wait_while(state, is_idle);
        waited.unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// The next task, without waiting.
    pub(crate) fn try_pop(&self) -> Option<Box<dyn Task>> {
        self.state().pop()
    }

    /// Closes the queue: no more tasks are accepted, and the threads end after the waiting tasks.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    fn has_capacity(&self, state: &State, bytes: usize) -> bool {
        state.waiting.len() < self.max_tasks && state.bytes.saturating_add(bytes) <= self.max_bytes
    }

    /// Ignores poisoning, since no code panics while it holds this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pop(&mut self) -> Option<Box<dyn Task>> {
        let task = self.waiting.pop_front()?;
        self.bytes -= task.claim().bytes;
        Some(task)
    }
}

/// Starts a thread that serves a queue until `serve` returns. After a panic outside of tasks, such as rusqlite's when
/// memory runs out, `serve` is called again.
pub(crate) fn start_thread(
    name: &str,
    mut serve: impl FnMut() + Send + 'static,
) -> Result<JoinHandle<()>, OpenError> {
    let serve = move || while catch_unwind(AssertUnwindSafe(&mut serve)).is_err() {};
    thread::Builder::new().name(name.to_owned()).spawn(serve).map_err(OpenError::Thread)
}
