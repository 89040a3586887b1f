//! A deadline for each call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep};
use tower::{Layer, Service};

use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::outcome::Outcome;

/// Sets a deadline for each call.
#[derive(Debug, Clone)]
pub struct TimeoutLayer {
    limit: Option<Duration>,
    overridable: bool,
    heartbeat: Heartbeat,
}

impl TimeoutLayer {
    /// Limits the duration of calls to `after`.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self { limit: Some(after), overridable: false, heartbeat: Heartbeat::default() }
    }

    /// Limits the duration of calls to the timeout of their operation, or to `after`.
    pub(crate) fn of_calls(after: Option<Duration>) -> Self {
        Self { limit: after, overridable: true, heartbeat: Heartbeat::default() }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Timeout<S> {
        Timeout {
            inner,
            limit: self.limit,
            overridable: self.overridable,
            heartbeat: self.heartbeat.clone(),
        }
    }
}

/// The waits of a call for its client, as an extension of the call. Protocols that send requests to the client of a call
/// set it, and give those requests their own deadline.
///
/// [`Timeout`] adds the time of the waits to the deadline, and
/// [`ConcurrencyLimit`](super::concurrency_limit::ConcurrencyLimit) does not count the call during a wait. Calls that
/// become tasks, which have another deadline and another limit, wait until they end.
#[derive(Debug, Clone, Default)]
pub struct ClientWait(Arc<Mutex<WaitState>>);

#[derive(Debug, Default)]
struct WaitState {
    /// The number of current waits, and the time when the first of them began.
    current: Option<(usize, Instant)>,
    total: Duration,
    round: Round,
}

/// The state of a call that its client can repeat with further responses.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Round {
    #[default]
    Running,
    /// The handler needs further responses.
    Ending,
    Ended,
}

/// A current wait. Dropping it ends the wait.
#[derive(Debug)]
pub struct ClientWaitGuard(ClientWait);

impl ClientWait {
    /// Begins a wait.
    #[must_use]
    pub fn begin(&self) -> ClientWaitGuard {
        let mut state = self.state();
        let (waits, since) = state.current.unwrap_or_else(|| (0, Instant::now()));
        state.current = Some((waits + 1, since));
        ClientWaitGuard(self.clone())
    }

    /// Ends the call with the result `null`, without an outcome of its handler, which is dropped: the client repeats the
    /// call with further responses. Takes effect when the call is polled again.
    pub fn end_round(&self) {
        self.state().round = Round::Ending;
    }

    /// Whether the call ended because of [`end_round`](Self::end_round).
    #[must_use]
    pub fn has_ended_round(&self) -> bool {
        self.state().round == Round::Ended
    }

    /// Ends the round if that was requested.
    fn take_end_of_round(&self) -> bool {
        let mut state = self.state();
        let is_ending = state.round == Round::Ending;
        if is_ending {
            state.round = Round::Ended;
        }
        is_ending
    }

    /// The total duration, without the overlap of concurrent waits.
    fn total(&self) -> Duration {
        let state = self.state();
        state.total + state.current.map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }

    /// Whether the call waits for its client.
    pub(super) fn is_current(&self) -> bool {
        self.state().current.is_some()
    }

    fn state(&self) -> MutexGuard<'_, WaitState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClientWaitGuard {
    fn drop(&mut self) {
        let mut state = self.0.state();
        match state.current {
            Some((waits, since)) if waits > 1 => state.current = Some((waits - 1, since)),
            Some((_, since)) => {
                state.total += since.elapsed();
                state.current = None;
            }
            None => {}
        }
    }
}

/// Drops a call at its deadline and replies with -32004. The time in which a call waits for its client
/// ([`ClientWait`]) does not count. Ends calls that their clients repeat, too.
///
/// The timer is set when the first poll of the call returns pending, so a call that completes at once
/// costs nothing.
#[derive(Debug, Clone)]
pub struct Timeout<S> {
    inner: S,
    limit: Option<Duration>,
    /// Whether the timeout of an operation overrides `limit`.
    overridable: bool,
    heartbeat: Heartbeat,
}

impl<S, E> Service<Call> for Timeout<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
{
    type Response = Outcome;
    type Error = E;
    type Future = TimeoutFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let own =
            call.operation().filter(|_| self.overridable).and_then(|operation| operation.timeout());
        let wait = call.extensions().get().cloned();
        let heartbeat = || self.heartbeat.clone();
        let limit = own.or(self.limit).map(|after| Limit { after, heartbeat: heartbeat() });
        TimeoutFuture { inner: Some(self.inner.call(call)), limit, wait, sleep: None }
    }
}

pin_project! {
    /// The future of a call with a deadline.
    pub struct TimeoutFuture<F> {
        #[pin]
        inner: Option<F>,
        limit: Option<Limit>,
        wait: Option<ClientWait>,
        sleep: Option<(Instant, Pin<Box<Sleep>>)>,
    }
}

#[derive(Debug)]
struct Limit {
    after: Duration,
    heartbeat: Heartbeat,
}

impl<F, E> Future for TimeoutFuture<F>
where
    F: Future<Output = Result<Outcome, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(inner) = this.inner.as_mut().as_pin_mut()
            && let Poll::Ready(outcome) = inner.poll(cx)
        {
            return Poll::Ready(outcome);
        }
        let wait = this.wait.as_ref();
        if wait.is_some_and(ClientWait::take_end_of_round) {
            this.inner.set(None);
            return Poll::Ready(Ok(Outcome::result(&())));
        }
        let Some(Limit { after, heartbeat }) = this.limit else {
            return Poll::Pending;
        };
        let after = *after;
        let (begin, sleep) = this.sleep.get_or_insert_with(|| {
            heartbeat.keep();
            (Instant::now(), Box::pin(sleep(after)))
        });
        while sleep.as_mut().poll(cx).is_ready() {
            let deadline = *begin + after + wait.map_or(Duration::ZERO, ClientWait::total);
            if deadline <= Instant::now() {
                // Releases what the call holds now, not after the reply is written.
                this.inner.set(None);
                return Poll::Ready(Ok(timed_out(after)));
            }
            // A call that waits cannot reach its deadline, so it is not checked often.
            let is_waiting = wait.is_some_and(ClientWait::is_current);
            let check = if is_waiting { CHECK_OF_WAITS } else { Duration::ZERO };
            sleep.as_mut().reset(deadline.max(Instant::now() + check));
        }
        Poll::Pending
    }
}

/// The minimum interval between checks of the deadline while a call waits for its client.
const CHECK_OF_WAITS: Duration = Duration::from_millis(100);

fn timed_out(after: Duration) -> Outcome {
    let error = ErrorObject::new(code::TIMEOUT, "Call timed out");
    Outcome::error(error.with_data(&serde_json::json!({ "timeout_ms": after.as_millis() as u64 })))
}

impl<F> fmt::Debug for TimeoutFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeoutFuture").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// A periodic timer that keeps the timers of calls from waking the runtime's driver.
///
/// tokio wakes its driver for a timer that expires before all others: a write to an eventfd and a turn of
/// epoll, which cost as much as a small call. Deadlines are far away, so on a server with sequential calls
/// each call would do so. While there are calls, a task that sleeps for a shorter time expires first. The
/// task ends after the last call.
#[derive(Debug, Clone, Default)]
struct Heartbeat(Arc<HeartbeatState>);

#[derive(Debug, Default)]
struct HeartbeatState {
    running: AtomicBool,
    /// Whether a timer was set since the last beat.
    used: AtomicBool,
}

const BEAT: Duration = Duration::from_millis(50);
/// The number of consecutive unused beats after which the task ends.
const IDLE_BEATS: u32 = 20;

impl Heartbeat {
    /// Starts the task if it does not run. To be called within a runtime, before a timer is set.
    fn keep(&self) {
        self.0.used.store(true, Ordering::Relaxed);
        if !self.0.running.load(Ordering::Relaxed) && !self.0.running.swap(true, Ordering::Relaxed)
        {
            tokio::spawn(beat(HeartbeatTask(Arc::clone(&self.0))));
        }
    }
}

async fn beat(task: HeartbeatTask) {
    let mut idle = 0;
    while idle < IDLE_BEATS {
        sleep(BEAT).await;
        idle = if task.0.used.swap(false, Ordering::Relaxed) { 0 } else { idle + 1 };
    }
}

/// Allows the next task, however this one ends.
struct HeartbeatTask(Arc<HeartbeatState>);

impl Drop for HeartbeatTask {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::Relaxed);
    }
}
