use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::lock;
use super::stop::{GRACE, Stop};
use super::worker::Job;

/// Which workers of a pool are idle, which work, and how many are stuck.
pub(super) struct Seats {
    /// One permit for each idle worker that nobody is about to take.
    free: Semaphore,
    state: Mutex<State>,
}

struct State {
    /// The inboxes of the workers that have no job. The last one in is the first one out: its page cache
    /// and statements are the warmest.
    idle: Vec<Sender<Job>>,
    /// The stops of the jobs that run, but for those of stuck workers.
    running: Vec<Arc<Stop>>,
    /// Workers that were replaced and have not let go yet.
    stuck: usize,
    /// Whether workers end instead of becoming idle.
    is_closed: bool,
}

/// A worker at work. Dropped, it is idle again, or it ends if it was replaced.
pub(super) struct Seat {
    inbox: Sender<Job>,
    stop: Arc<Stop>,
    seats: Arc<Seats>,
}

impl Seats {
    pub(super) fn new(idle: Vec<Sender<Job>>) -> Self {
        let free = Semaphore::new(idle.len());
        Self {
            free,
            state: Mutex::new(State { idle, running: Vec::new(), stuck: 0, is_closed: false }),
        }
    }

    pub(super) fn free(&self) -> &Semaphore {
        &self.free
    }

    /// The worker that a permit stands for, for the job of `stop`.
    pub(super) fn take(
        self: &Arc<Self>,
        permit: SemaphorePermit<'_>,
        stop: &Arc<Stop>,
    ) -> Option<Seat> {
        let mut state = lock(&self.state);
        let inbox = state.idle.pop()?;
        state.running.push(Arc::clone(stop));
        permit.forget();
        Some(Seat { inbox, stop: Arc::clone(stop), seats: Arc::clone(self) })
    }

    /// Lets idle workers end now, and those at work when they are done.
    pub(super) fn close(&self) {
        self.free.close();
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.idle.clear();
    }

    /// Puts a fresh reader in the place of each stuck one, up to `bound`, and tells when it may be worth
    /// another look.
    pub(super) fn replace_stuck(
        &self,
        bound: usize,
        start: impl Fn() -> Option<Sender<Job>>,
    ) -> Option<Instant> {
        let now = Instant::now();
        let mut state = lock(&self.state);
        while state.stuck < bound && !state.is_closed {
            let is_stuck = |stop: &Arc<Stop>| stop.stuck_from() <= now;
            let Some(place) = state.running.iter().position(is_stuck) else {
                let next = state.running.iter().map(|stop| stop.stuck_from()).min();
                // A caller that goes before its deadline makes it earlier.
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
                "a query does not stop; its reader is replaced"
            );
        }
        None
    }
}

impl Seat {
    pub(super) fn inbox(&self) -> Sender<Job> {
        self.inbox.clone()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = lock(&self.seats.state);
        match state.running.iter().position(|stop| Arc::ptr_eq(stop, &self.stop)) {
            Some(place) => {
                state.running.swap_remove(place);
                if !state.is_closed {
                    state.idle.push(self.inbox.clone());
                    self.seats.free.add_permits(1);
                }
            }
            None => state.stuck -= 1,
        }
    }
}
