//! A deadline for each call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};
use tower::{Layer, Service};

use trunkline_core::call::Call;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::outcome::Outcome;

/// Gives each call a deadline.
#[derive(Debug, Clone)]
pub struct TimeoutLayer {
    limit: Option<Duration>,
    yields: bool,
    pulse: Pulse,
}

impl TimeoutLayer {
    /// Calls may take `after`.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self { limit: Some(after), yields: false, pulse: Pulse::default() }
    }

    /// Calls may take `after`, if it is said, or what their operation says.
    pub(crate) fn of_calls(after: Option<Duration>) -> Self {
        Self { limit: after, yields: true, pulse: Pulse::default() }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Timeout<S> {
        Timeout { inner, limit: self.limit, yields: self.yields, pulse: self.pulse.clone() }
    }
}

/// Drops a call whose time is up and answers -32004 in its place.
///
/// The timer is armed when the call is first found unfinished, so calls that end at once cost
/// nothing.
#[derive(Debug, Clone)]
pub struct Timeout<S> {
    inner: S,
    limit: Option<Duration>,
    /// Whether an operation's own time is put in the place of this one.
    yields: bool,
    pulse: Pulse,
}

impl<S, E> Service<Call> for Timeout<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = TimeoutFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let own =
            call.operation().filter(|_| self.yields).and_then(|operation| operation.timeout());
        let limit = own.or(self.limit).map(|after| (after, self.pulse.clone()));
        TimeoutFuture::new(self.inner.call(call), limit)
    }
}

/// The future of a call with a deadline.
pub struct TimeoutFuture<F> {
    inner: Option<F>,
    limit: Option<(Duration, Pulse)>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<F> TimeoutFuture<F> {
    fn new(inner: F, limit: Option<(Duration, Pulse)>) -> Self {
        Self { inner: Some(inner), limit, sleep: None }
    }
}

impl<F, E> Future for TimeoutFuture<F>
where
    F: Future<Output = Result<Outcome, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(inner) = &mut this.inner
            && let Poll::Ready(outcome) = Pin::new(inner).poll(cx)
        {
            return Poll::Ready(outcome);
        }
        let Some((after, pulse)) = &this.limit else {
            return Poll::Pending;
        };
        let after = *after;
        let sleep = this.sleep.get_or_insert_with(|| {
            pulse.want();
            Box::pin(sleep(after))
        });
        if sleep.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        // What the call still holds goes now, not when the reply has been written.
        this.inner = None;
        Poll::Ready(Ok(timed_out(after)))
    }
}

fn timed_out(after: Duration) -> Outcome {
    let error = ErrorObject::new(code::TIMEOUT, "Call timed out");
    Outcome::error(error.with_data(&serde_json::json!({ "timeout_ms": after.as_millis() as u64 })))
}

impl<F> fmt::Debug for TimeoutFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeoutFuture").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// Keeps the timers of calls from waking the runtime's driver.
///
/// tokio wakes its driver for a timer that is due before all others: a write to an eventfd and a turn
/// of epoll, which cost as much as a small call. Deadlines are far away, so on a server that is asked
/// one call after the other that is each of them. While calls come, a task that sleeps for a short time
/// only is due before them. It ends when no more calls come.
#[derive(Debug, Clone, Default)]
struct Pulse(Arc<State>);

#[derive(Debug, Default)]
struct State {
    beats: AtomicBool,
    wanted: AtomicBool,
}

const BEAT: Duration = Duration::from_millis(50);
/// How many beats there are that nobody wanted, until it ends.
const IDLE: u32 = 20;

impl Pulse {
    /// To be called within a runtime, when a timer is about to be set.
    fn want(&self) {
        self.0.wanted.store(true, Ordering::Relaxed);
        if !self.0.beats.load(Ordering::Relaxed) && !self.0.beats.swap(true, Ordering::Relaxed) {
            tokio::spawn(beat(Beating(Arc::clone(&self.0))));
        }
    }
}

async fn beat(state: Beating) {
    let mut idle = 0;
    while idle < IDLE {
        sleep(BEAT).await;
        idle = if state.0.wanted.swap(false, Ordering::Relaxed) { 0 } else { idle + 1 };
    }
}

/// However the task ends, another one may begin.
struct Beating(Arc<State>);

impl Drop for Beating {
    fn drop(&mut self) {
        self.0.beats.store(false, Ordering::Relaxed);
    }
}
