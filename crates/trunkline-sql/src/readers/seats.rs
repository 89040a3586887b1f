use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::lock;
use super::reader::Job;
use super::stop::{GRACE, Stop};

/// Which readers are idle, which work, and how many are stuck.
pub(super) struct Seats {
    /// One permit for each idle reader that nobody is about to take.
    free: Semaphore,
    state: Mutex<State>,
}

struct State {
    /// The inboxes of the readers that have no job. The last one in is the first one out: its page cache
    /// and statements are the warmest.
    idle: Vec<Sender<Job>>,
    /// The stops of the jobs that run, but for those of stuck readers.
    running: Vec<Arc<Stop>>,
    /// Readers that were replaced and have not let go yet.
    stuck: usize,
}

/// A reader at work. Dropped, it is idle again, or it ends if it was replaced.
pub(super) struct Seat {
    inbox: Sender<Job>,
    stop: Arc<Stop>,
    seats: Arc<Seats>,
}

impl Seats {
    pub(super) fn new(idle: Vec<Sender<Job>>) -> Self {
        let free = Semaphore::new(idle.len());
        Self { free, state: Mutex::new(State { idle, running: Vec::new(), stuck: 0 }) }
    }

    pub(super) fn free(&self) -> &Semaphore {
        &self.free
    }

    /// The reader that a permit stands for, for the job of `stop`.
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

    /// Puts a fresh reader in the place of each stuck one, up to `bound`, and tells when it may be worth
    /// another look.
    pub(super) fn replace_stuck(
        &self,
        bound: usize,
        start: impl Fn() -> Option<Sender<Job>>,
    ) -> Option<Instant> {
        let now = Instant::now();
        let mut state = lock(&self.state);
        while state.stuck < bound {
            let is_stuck = |stop: &Arc<Stop>| stop.stuck_from() <= now;
            let Some(place) = state.running.iter().position(is_stuck) else {
                let next = state.running.iter().map(|stop| stop.stuck_from()).min();
                // A caller that goes before its deadline makes it earlier.
                return next.map(|next| next.min(now + GRACE));
            };
            let inbox = start()?;
            state.running.swap_remove(place);
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
                state.idle.push(self.inbox.clone());
                self.seats.free.add_permits(1);
            }
            None => state.stuck -= 1,
        }
    }
}
