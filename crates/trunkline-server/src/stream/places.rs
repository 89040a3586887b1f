//! The places of calls that run, and the calls that wait for one.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use super::config::StreamConfig;

/// The places of one client's calls.
pub(super) struct Places {
    free: Arc<Semaphore>,
    max_calls: usize,
    max_bytes: usize,
    patience: Duration,
    waiting: Mutex<Waiting>,
    left: Notify,
}

/// The calls that wait, in the order of the semaphore.
struct Waiting {
    calls: usize,
    bytes: usize,
    /// When a call was given a place for the last time, or the first of those that wait has come.
    since: Instant,
    /// No call was given a place for too long: no more wait until one is.
    is_stuck: bool,
}

impl Places {
    pub(super) fn new(config: &StreamConfig) -> Self {
        let free = Arc::new(Semaphore::new(config.in_flight.clamp(1, Semaphore::MAX_PERMITS)));
        let waiting = Waiting { calls: 0, bytes: 0, since: Instant::now(), is_stuck: false };
        Self {
            free,
            max_calls: config.in_flight,
            max_bytes: config.message_bytes,
            patience: config.place_timeout,
            waiting: Mutex::new(waiting),
            left: Notify::new(),
        }
    }

    /// A place, if one is free and no call waits for it.
    pub(super) fn take(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.free).try_acquire_owned().ok()?;
        self.lock().moves();
        Some(place)
    }

    /// Whether calls that find no place are to be refused.
    pub(super) fn is_stuck(&self) -> bool {
        self.lock().is_stuck
    }

    /// Waits for a place, behind those that wait already; `None` if it takes too long until any call is given
    /// one. The call has `bytes` bytes.
    pub(super) async fn wait(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let _waiter = Waiter::new(self, bytes);
        let mut place = pin!(Arc::clone(&self.free).acquire_owned());
        loop {
            let left = self.patience.saturating_sub(self.lock().since.elapsed());
            tokio::select! {
                biased;
                // The semaphore is never closed.
                place = &mut place => {
                    self.lock().moves();
                    return place.ok();
                }
                () = sleep(left) => {}
            }
            let mut waiting = self.lock();
            if waiting.since.elapsed() >= self.patience {
                waiting.is_stuck = true;
                return None;
            }
        }
    }

    /// Waits until those that wait are not too many.
    pub(super) async fn room(&self) {
        loop {
            let left = self.left.notified();
            let has_room = {
                let waiting = self.lock();
                waiting.calls <= self.max_calls && waiting.bytes <= self.max_bytes
            };
            if has_room {
                return;
            }
            left.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// A call is given a place.
    fn moves(&mut self) {
        (self.since, self.is_stuck) = (Instant::now(), false);
    }
}

/// A call that waits, until this is dropped.
struct Waiter<'p> {
    places: &'p Places,
    bytes: usize,
}

impl<'p> Waiter<'p> {
    fn new(places: &'p Places, bytes: usize) -> Self {
        let mut waiting = places.lock();
        if waiting.calls == 0 {
            waiting.since = Instant::now();
        }
        waiting.calls += 1;
        waiting.bytes += bytes;
        Self { places, bytes }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.places.lock();
        waiting.calls -= 1;
        waiting.bytes -= self.bytes;
        self.places.left.notify_one();
    }
}
