//! A deadline for each call.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};
use trunkline_core::call::{Call, CallFuture};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::outcome::Outcome;

use super::layered::{CallLayer, CallService, layer};

/// Drops a call at its deadline and replies with -32004. The time in which a call waits for its client
/// ([`ClientWait`]) does not count. Ends calls that their clients repeat, too.
///
/// The timer is set when the first poll of the call returns pending, so a call that completes at once
/// costs nothing.
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

layer!(TimeoutLayer);

impl CallLayer for TimeoutLayer {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        let own =
            call.operation().filter(|_| self.overridable).and_then(|operation| operation.timeout());
        let (limit, wait) = (own.or(self.limit), call.extensions().get::<ClientWait>().cloned());
        let future = inner.run(call);
        if future.is_ready() || limit.is_none() && wait.is_none() {
            return future;
        }
        let heartbeat = self.heartbeat.clone();
        let mut deadline = None;
        future.polled_by(move |future, cx| {
            if let Poll::Ready(ended) = Pin::new(&mut *future).poll(cx) {
                return Poll::Ready(ended);
            }
            let outcome = if wait.as_ref().is_some_and(ClientWait::take_end_of_round) {
                Outcome::result(&())
            } else {
                let Some(after) = limit else { return Poll::Pending };
                let deadline = deadline.get_or_insert_with(|| {
                    heartbeat.keep();
                    Deadline::new(after)
                });
                ready!(deadline.poll(wait.as_ref(), cx));
                timed_out(after)
            };
            // Releases what the call holds now, not after the reply is written.
            *future = CallFuture::boxed(pending());
            Poll::Ready(Ok(outcome))
        })
    }
}

/// The deadline of a running call.
struct Deadline {
    begin: Instant,
    after: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Deadline {
    fn new(after: Duration) -> Self {
        Self { begin: Instant::now(), after, sleep: Box::pin(sleep(after)) }
    }

    /// Ready at the deadline, to which the time of waits for the client is added.
    fn poll(&mut self, wait: Option<&ClientWait>, cx: &mut Context<'_>) -> Poll<()> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            let waited = wait.map_or(Duration::ZERO, ClientWait::total);
            let deadline = self.begin + self.after + waited;
            if deadline <= Instant::now() {
                return Poll::Ready(());
            }
            // A call that waits cannot reach its deadline, so it is not checked often.
            let is_waiting = wait.is_some_and(ClientWait::is_current);
            let check = if is_waiting { CHECK_OF_WAITS } else { Duration::ZERO };
            self.sleep.as_mut().reset(deadline.max(Instant::now() + check));
        }
        Poll::Pending
    }
}

/// The waits of a call for its client, as an extension of the call. Protocols that send requests to the client of a call
/// set it, and give those requests their own deadline.
///
/// [`TimeoutLayer`] adds the time of the waits to the deadline, and
/// [`ConcurrencyLimitLayer`](super::ConcurrencyLimitLayer) does not count the call during a wait. Calls that
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

/// The minimum interval between checks of the deadline while a call waits for its client.
const CHECK_OF_WAITS: Duration = Duration::from_millis(100);

fn timed_out(after: Duration) -> Outcome {
    let error = ErrorObject::new(code::TIMEOUT, "Call timed out");
    Outcome::error(error.with_data(&serde_json::json!({ "timeout_ms": after.as_millis() as u64 })))
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
