//! The slots of running calls, and the queue of calls that wait for one.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use super::config::StreamConfig;

/// The slots for the running calls of a client.
pub(super) struct CallSlots {
    free: Arc<Semaphore>,
    max_calls: usize,
    max_bytes: usize,
    queue_timeout: Duration,
    queue: Mutex<Queue>,
    dequeued: Notify,
}

/// The state of the queue. The semaphore determines the order of the calls.
struct Queue {
    calls: usize,
    bytes: usize,
    /// The time when a call last acquired a slot, or when the queue became non-empty.
    since: Instant,
    /// Whether no call has acquired a slot for too long. Further calls are refused until one does.
    is_stuck: bool,
}

impl CallSlots {
    pub(super) fn new(config: &StreamConfig) -> Self {
        let free = Arc::new(Semaphore::new(config.in_flight.clamp(1, Semaphore::MAX_PERMITS)));
        let queue = Queue { calls: 0, bytes: 0, since: Instant::now(), is_stuck: false };
        Self {
            free,
            max_calls: config.in_flight,
            max_bytes: config.message_bytes,
            queue_timeout: config.queue_timeout,
            queue: Mutex::new(queue),
            dequeued: Notify::new(),
        }
    }

    /// Acquires a slot, if one is free and no call is queued.
    pub(super) fn try_acquire(&self) -> Option<OwnedSemaphorePermit> {
        let slot = Arc::clone(&self.free).try_acquire_owned().ok()?;
        self.lock().progressed();
        Some(slot)
    }

    /// Whether calls that need to be queued must be refused.
    pub(super) fn is_stuck(&self) -> bool {
        self.lock().is_stuck
    }

    /// Queues a call of `bytes` bytes until it acquires a slot. Returns `None` if no call acquires a slot within
    /// the queue timeout.
    pub(super) async fn acquire(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let _queued = QueuedCall::new(self, bytes);
        let mut slot = pin!(Arc::clone(&self.free).acquire_owned());
        loop {
            let left = self.queue_timeout.saturating_sub(self.lock().since.elapsed());
            tokio::select! {
                biased;
                // The semaphore is never closed.
                slot = &mut slot => {
                    self.lock().progressed();
                    return slot.ok();
                }
                () = sleep(left) => {}
            }
            let mut queue = self.lock();
            if queue.since.elapsed() >= self.queue_timeout {
                queue.is_stuck = true;
                return None;
            }
        }
    }

    /// Waits until the queue is not full.
    pub(super) async fn queue_not_full(&self) {
        loop {
            let dequeued = self.dequeued.notified();
            let is_within_limits = {
                let queue = self.lock();
                queue.calls <= self.max_calls && queue.bytes <= self.max_bytes
            };
            if is_within_limits {
                return;
            }
            dequeued.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// A call has acquired a slot.
    fn progressed(&mut self) {
        (self.since, self.is_stuck) = (Instant::now(), false);
    }
}

/// A queued call. Dropping it removes the call from the queue.
struct QueuedCall<'s> {
    slots: &'s CallSlots,
    bytes: usize,
}

impl<'s> QueuedCall<'s> {
    fn new(slots: &'s CallSlots, bytes: usize) -> Self {
        let mut queue = slots.lock();
        if queue.calls == 0 {
            queue.since = Instant::now();
        }
        queue.calls += 1;
        queue.bytes += bytes;
        Self { slots, bytes }
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        let mut queue = self.slots.lock();
        queue.calls -= 1;
        queue.bytes -= self.bytes;
        self.slots.dequeued.notify_one();
    }
}
