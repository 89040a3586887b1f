//! Calls that wait for a place among those that run.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use trunkline_core::call::Call;
use trunkline_core::dispatch::Batch;

use super::calls::Registration;
use super::request::Request;

/// The calls that wait, in the order in which they have come.
pub(super) struct Queue {
    waiting: VecDeque<Queued>,
    bytes: usize,
    /// When one of them had a place for the last time, or the first of them has come.
    since: Instant,
    /// Nobody has had a place for too long: no more are taken until somebody has.
    is_stuck: bool,
}

/// One of them. It can be cancelled.
pub(super) struct Queued {
    pub(super) request: Request,
    pub(super) work: Work,
    /// How many it has come as.
    pub(super) bytes: usize,
    pub(super) registration: Registration,
}

/// What is run.
pub(super) enum Work {
    Call(Call),
    Batch(Batch),
}

impl Queue {
    pub(super) fn new() -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, since: Instant::now(), is_stuck: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Whether more may come: behind `calls` others, with as many `bytes` together.
    pub(super) fn has_room(&self, calls: usize, bytes: usize) -> bool {
        self.waiting.len() <= calls && self.bytes <= bytes
    }

    pub(super) fn push(&mut self, queued: Queued) {
        if self.waiting.is_empty() {
            self.since = Instant::now();
        }
        self.bytes += queued.bytes;
        self.waiting.push_back(queued);
    }

    /// The first, which has a place.
    pub(super) fn pop(&mut self) -> Option<Queued> {
        self.moves();
        let queued = self.waiting.pop_front()?;
        self.bytes -= queued.bytes;
        Some(queued)
    }

    /// Somebody has a place.
    pub(super) fn moves(&mut self) {
        self.is_stuck = false;
        self.since = Instant::now();
    }

    /// Waits until nobody has had a place for so long.
    pub(super) async fn stuck(&self, patience: Duration) {
        tokio::time::sleep(patience.saturating_sub(self.since.elapsed())).await;
    }

    /// All that wait. No more do until somebody has a place.
    pub(super) fn give_up(&mut self) -> VecDeque<Queued> {
        (self.is_stuck, self.bytes) = (true, 0);
        std::mem::take(&mut self.waiting)
    }

    /// One that has been cancelled.
    pub(super) fn take_cancelled(&mut self) -> Option<Queued> {
        let place = self.waiting.iter().position(|queued| queued.registration.is_cancelled())?;
        let queued = self.waiting.remove(place)?;
        self.bytes -= queued.bytes;
        Some(queued)
    }
}
