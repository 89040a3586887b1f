//! The requests that wait for results: their deadlines and callbacks.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, timeout_at};

use super::handler::ClientHandler;

/// The progress of a request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ProgressUpdate {
    /// The progress so far, which increases.
    pub progress: f64,
    /// The progress at the end, if known.
    pub total: Option<f64>,
    /// The current step.
    pub message: Option<String>,
}

/// Receives values while a request runs. It must not block.
pub struct Callback<T>(Arc<dyn Fn(T) + Send + Sync>);

/// Receives the progress of a request.
pub type ProgressCallback = Callback<ProgressUpdate>;

impl<T> Callback<T> {
    /// A callback.
    pub fn new(callback: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(callback))
    }

    pub(super) fn call(&self, value: T) {
        (self.0)(value);
    }
}

impl<T> Clone for Callback<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Callback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

/// The waiting requests by id, which is also the progress token.
#[derive(Debug, Default)]
pub(super) struct Pending {
    requests: Mutex<HashMap<i64, Waiting>>,
    /// The number of pauses: while there is one, deadlines are extended.
    pauses: AtomicUsize,
}

#[derive(Debug)]
struct Waiting {
    timeout: Duration,
    deadline: Instant,
    last: Instant,
    listeners: Listeners,
}

/// The receivers of messages that belong to a request.
#[derive(Default)]
pub(super) struct Listeners {
    pub(super) progress: Option<ProgressCallback>,
    pub(super) handler: Option<Arc<dyn ClientHandler>>,
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").field("progress", &self.progress).finish_non_exhaustive()
    }
}

/// Several requests may be the one to which a message belongs.
#[derive(Debug)]
pub(super) struct Ambiguous;

impl Waiting {
    fn extend(&mut self) {
        self.deadline = after(self.timeout).min(self.last);
    }
}

/// The time limits of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimits {
    /// The time without a sign of life.
    pub(super) timeout: Duration,
    /// The whole time.
    pub(super) max: Duration,
}

/// No result arrived within this time.
#[derive(Debug)]
pub(super) struct Elapsed(pub(super) Duration);

impl Pending {
    /// Waits for the result of the request with this id.
    pub(super) async fn wait<T>(
        &self,
        id: i64,
        limits: TimeLimits,
        listeners: Listeners,
        result: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        let begin = Instant::now();
        let last = after(limits.max);
        let first = after(limits.timeout).min(last);
        let waiting = Waiting { timeout: limits.timeout, deadline: first, last, listeners };
        self.requests().insert(id, waiting);
        let _guard = Registered { pending: self, id };
        let mut result = std::pin::pin!(result);
        let mut deadline = first;
        // The configured time, unless it was extended.
        let passed =
            |deadline| Elapsed(if deadline == first { limits.timeout } else { begin.elapsed() });
        loop {
            if let Ok(result) = timeout_at(deadline, &mut result).await {
                return Ok(result);
            }
            let mut requests = self.requests();
            let Some(waiting) = requests.get_mut(&id) else { return Err(passed(deadline)) };
            if self.pauses.load(Ordering::Relaxed) > 0 {
                waiting.extend();
            }
            if waiting.deadline <= Instant::now() {
                return Err(passed(waiting.deadline));
            }
            deadline = waiting.deadline;
        }
    }

    /// Extends the deadline of a request, and calls its callback. Unknown tokens are ignored.
    pub(super) fn progress(&self, token: i64, update: ProgressUpdate) {
        let mut requests = self.requests();
        let Some(waiting) = requests.get_mut(&token) else { return };
        waiting.extend();
        let callback = waiting.listeners.progress.clone();
        drop(requests);
        if let Some(callback) = callback {
            callback.call(update);
        }
    }

    /// The handler of a message that belongs to the request `related`, if the transport shows that. Otherwise, that of
    /// the only request that has one.
    pub(super) fn handler(
        &self,
        related: Option<i64>,
    ) -> Result<Option<Arc<dyn ClientHandler>>, Ambiguous> {
        let requests = self.requests();
        let handler = |waiting: &Waiting| waiting.listeners.handler.clone();
        if let Some(id) = related {
            return Ok(requests.get(&id).and_then(handler));
        }
        let mut handlers = requests.values().filter_map(handler);
        match (handlers.next(), handlers.next()) {
            (_, Some(_)) => Err(Ambiguous),
            (handler, None) => Ok(handler),
        }
    }

    /// Extends all deadlines while the returned guard exists, up to their maximum.
    pub(super) fn pause(&self) -> Pause<'_> {
        self.pauses.fetch_add(1, Ordering::Relaxed);
        Pause(self)
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<i64, Waiting>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time after `duration`, which may be the largest.
fn after(duration: Duration) -> Instant {
    const LONG: Duration = Duration::from_secs(86_400 * 365);
    Instant::now() + duration.min(LONG)
}

struct Registered<'p> {
    pending: &'p Pending,
    id: i64,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.pending.requests().remove(&self.id);
    }
}

pub(super) struct Pause<'p>(&'p Pending);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.requests().values_mut().for_each(Waiting::extend);
        self.0.pauses.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    const LIMITS: TimeLimits =
        TimeLimits { timeout: Duration::from_secs(10), max: Duration::from_secs(25) };

    /// The seconds after which a request fails that is extended at these seconds.
    async fn failed_after(extensions: &[u64]) -> u64 {
        let requests = Pending::default();
        let begin = Instant::now();
        let extending = async {
            for second in extensions {
                tokio::time::sleep_until(begin + Duration::from_secs(*second)).await;
                requests.progress(1, ProgressUpdate { progress: 1.0, total: None, message: None });
            }
            pending::<()>().await;
        };
        requests.wait(1, LIMITS, Listeners::default(), extending).await.unwrap_err().0.as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn progress_extends_deadlines_up_to_a_maximum() {
        assert_eq!(failed_after(&[]).await, 10);
        assert_eq!(failed_after(&[9]).await, 19);
        assert_eq!(failed_after(&[9, 18, 24]).await, 25);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_extend_deadlines() {
        let requests = Pending::default();
        let paused = async {
            let pause = requests.pause();
            tokio::time::sleep(Duration::from_secs(12)).await;
            drop(pause);
            pending::<()>().await;
        };
        let elapsed = requests.wait(1, LIMITS, Listeners::default(), paused).await.unwrap_err();
        assert_eq!(elapsed.0.as_secs(), 22);
    }
}
