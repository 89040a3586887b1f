use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

use super::cancellation::{Cancellation, GRACE};
use super::lock;
use crate::model::error::Error;
use crate::sqlite::session::Session;

/// The workers of a pool: idle, busy and stuck.
pub(super) struct Slots {
    /// One permit for each idle worker that is not reserved.
    free: Semaphore,
    state: Mutex<State>,
}

struct State {
    /// The inboxes of the workers that have no job. The last one is used first, since its caches are the most recent.
    idle: Vec<Sender<Job>>,
    /// The running jobs, without those of stuck workers.
    running: Vec<Arc<Cancellation>>,
    /// The number of workers that were replaced and are still busy.
    stuck: usize,
    /// Whether workers end instead of becoming idle.
    is_closed: bool,
}

/// A busy worker. When the guard is dropped, the worker is idle again, or ends if it was replaced.
pub(super) struct WorkerGuard {
    inbox: Sender<Job>,
    cancellation: Arc<Cancellation>,
    slots: Arc<Slots>,
}

impl Slots {
    pub(super) fn new(idle: Vec<Sender<Job>>) -> Self {
        let free = Semaphore::new(idle.len());
        Self {
            free,
            state: Mutex::new(State { idle, running: Vec::new(), stuck: 0, is_closed: false }),
        }
    }

    /// The number of calls that use a worker. Stuck workers that were replaced do not count.
    pub(super) fn running(&self) -> usize {
        lock(&self.state).running.len()
    }

    pub(super) fn free(&self) -> &Semaphore {
        &self.free
    }

    /// Takes the idle worker that a permit represents.
    pub(super) fn take(
        self: &Arc<Self>,
        permit: SemaphorePermit<'_>,
        cancellation: &Arc<Cancellation>,
    ) -> Option<WorkerGuard> {
        let mut state = lock(&self.state);
        let inbox = state.idle.pop()?;
        state.running.push(Arc::clone(cancellation));
        permit.forget();
        Some(WorkerGuard { inbox, cancellation: Arc::clone(cancellation), slots: Arc::clone(self) })
    }

    /// Ends idle workers now, and busy ones when they are done.
    pub(super) fn close(&self) {
        self.free.close();
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.idle.clear();
    }

    /// Replaces each stuck reader, up to `bound`, and returns the time of the next check.
    pub(super) fn replace_stuck(
        &self,
        bound: usize,
        start: impl Fn() -> Option<Sender<Job>>,
    ) -> Option<Instant> {
        let now = Instant::now();
        let mut state = lock(&self.state);
        while state.stuck < bound && !state.is_closed {
            let is_stuck = |job: &Arc<Cancellation>| job.stuck_from() <= now;
            let Some(place) = state.running.iter().position(is_stuck) else {
                let next = state.running.iter().map(|job| job.stuck_from()).min();
                // A cancellation before the deadline makes it earlier.
                return next.map(|next| next.min(now + GRACE));
            };
            let inbox = start()?;
            state.running.swap_remove(place).slow_down();
            state.stuck += 1;
            state.idle.push(inbox);
            self.free.add_permits(1);
            tracing::warn!(
                stuck = state.stuck,
                bound,
                "a query cannot be interrupted; its reader is replaced"
            );
        }
        None
    }
}

impl WorkerGuard {
    pub(super) fn inbox(&self) -> Sender<Job> {
        self.inbox.clone()
    }
}

impl Drop for WorkerGuard {
    fn drop(&mut self) {
        let mut state = lock(&self.slots.state);
        match state.running.iter().position(|job| Arc::ptr_eq(job, &self.cancellation)) {
            Some(place) => {
                state.running.swap_remove(place);
                if !state.is_closed {
                    state.idle.push(self.inbox.clone());
                    self.slots.free.add_permits(1);
                }
            }
            None => state.stuck -= 1,
        }
    }
}

/// A task with its worker.
pub(super) struct Job {
    pub(super) task: Box<dyn Task>,
    pub(super) cancellation: Arc<Cancellation>,
    pub(super) runs: u32,
    worker: WorkerGuard,
}

impl Job {
    pub(super) fn new(
        task: Box<dyn Task>,
        cancellation: Arc<Cancellation>,
        worker: WorkerGuard,
    ) -> Self {
        Self { task, cancellation, runs: 0, worker }
    }

    pub(super) fn fail(mut self, error: Error) {
        self.task.fail(error);
        self.finish();
    }

    pub(super) fn finish(self) {
        self.task.answer(self.worker);
    }
}

/// Work whose result type the worker does not know.
pub(super) trait Task: Send {
    /// Runs it, in place of an earlier run.
    fn run(&mut self, session: &mut Session<'_>);
    /// Sets the outcome, in place of a run.
    fn fail(&mut self, error: Error);
    /// The error of the last run.
    fn error(&self) -> Option<&Error>;
    /// Sends the outcome of the last run to the caller, with the worker.
    fn answer(self: Box<Self>, worker: WorkerGuard);
}

/// The outcome of a job. The caller frees the worker when it receives the outcome, so that results do not accumulate
/// if workers are faster than their callers.
pub(super) type Answer<T> = (Result<T, Error>, WorkerGuard);

pub(super) struct Work<T, F> {
    work: F,
    outcome: Option<Result<T, Error>>,
    reply: oneshot::Sender<Answer<T>>,
}

impl<T, F> Work<T, F> {
    pub(super) fn new(work: F, reply: oneshot::Sender<Answer<T>>) -> Self {
        Self { work, outcome: None, reply }
    }
}

impl<T, F> Task for Work<T, F>
where
    T: Send,
    F: FnMut(&mut Session<'_>) -> Result<T, Error> + Send,
{
    fn run(&mut self, session: &mut Session<'_>) {
        self.outcome = Some((self.work)(session));
    }

    fn fail(&mut self, error: Error) {
        self.outcome = Some(Err(error));
    }

    fn error(&self) -> Option<&Error> {
        match &self.outcome {
            Some(Err(error)) => Some(error),
            _ => None,
        }
    }

    fn answer(self: Box<Self>, worker: WorkerGuard) {
        if let Some(outcome) = self.outcome {
            // This fails only after a timeout or a cancellation.
            drop(self.reply.send((outcome, worker)));
        }
    }
}
