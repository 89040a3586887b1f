//! The requests that wait for results: their deadlines and callbacks.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::handler::ClientHandler;
use super::options::CallOptions;
use crate::lock::Lock;
use crate::model::ProgressUpdate;
use crate::on_drop::OnDrop;

/// The waiting requests by id, which is also the progress token.
#[derive(Debug)]
pub(super) struct Pending {
    state: Lock<State>,
    /// The time for which a request without an answer may still send messages.
    linger: Duration,
    /// The number of pauses: while there is one, deadlines are extended.
    pauses: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    requests: HashMap<i64, Waiting>,
    abandoned: Abandoned,
}

/// The requests that have ended without an answer. The server may not have read their cancellation, or may ignore it, and
/// go on sending messages that belong to them.
#[derive(Debug, Default)]
struct Abandoned {
    /// In the order of their ends.
    requests: VecDeque<AbandonedRequest>,
    /// The end of the last one that was removed because there were too many.
    removed_until: Option<Instant>,
}

#[derive(Debug)]
struct AbandonedRequest {
    id: i64,
    owner: Option<String>,
    until: Instant,
}

/// The maximum number of abandoned requests to remember.
const MAX_ABANDONED: usize = 1_024;

#[derive(Debug)]
struct Waiting {
    timeout: Duration,
    deadline: Instant,
    last: Instant,
    /// The receivers of messages that belong to the request.
    options: CallOptions,
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
    /// Requests that are remembered for this time if they end without an answer.
    pub(super) fn new(linger: Duration) -> Self {
        Self { state: Lock::default(), linger, pauses: AtomicUsize::new(0) }
    }

    /// Waits for the result of the request with this id.
    pub(super) async fn wait<T>(
        &self,
        id: i64,
        limits: TimeLimits,
        options: CallOptions,
        result: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        let begin = Instant::now();
        let last = after(limits.max);
        let first = after(limits.timeout).min(last);
        let waiting = Waiting { timeout: limits.timeout, deadline: first, last, options };
        self.state.lock().requests.insert(id, waiting);
        let _end = OnDrop::new(|| self.end(id));
        let mut result = std::pin::pin!(result);
        let mut deadline = first;
        // The configured time, unless it was extended.
        let passed =
            |deadline| Elapsed(if deadline == first { limits.timeout } else { begin.elapsed() });
        loop {
            if let Ok(result) = timeout_at(deadline, &mut result).await {
                return Ok(result);
            }
            let mut state = self.state.lock();
            let Some(waiting) = state.requests.get_mut(&id) else { return Err(passed(deadline)) };
            if self.pauses.load(Ordering::Relaxed) > 0 {
                waiting.extend();
            }
            if waiting.deadline <= Instant::now() {
                return Err(passed(waiting.deadline));
            }
            deadline = waiting.deadline;
        }
    }

    /// Removes a request. Without an answer, it may still send messages.
    fn end(&self, id: i64) {
        let mut state = self.state.lock();
        // Without a handler, messages go to that of the configuration anyway.
        if let Some(Waiting { options, .. }) = state.requests.remove(&id)
            && options.handler.is_some()
        {
            let until = after(self.linger);
            state.abandoned.add(AbandonedRequest { id, owner: options.owner, until });
        }
    }

    /// Receives the answer of a request: no further messages belong to it. The request may have been abandoned.
    pub(super) fn answered(&self, id: i64) {
        let mut state = self.state.lock();
        state.requests.remove(&id);
        state.abandoned.requests.retain(|request| request.id != id);
    }

    /// Extends the deadline of a request, and calls its callback. Unknown tokens are ignored.
    pub(super) fn progress(&self, token: i64, update: ProgressUpdate) {
        let mut state = self.state.lock();
        let Some(waiting) = state.requests.get_mut(&token) else { return };
        waiting.extend();
        let callback = waiting.options.progress.clone();
        drop(state);
        if let Some(callback) = callback {
            callback.call(update);
        }
    }

    /// The handler of a message that belongs to the request `related`, if the transport shows that. Otherwise, that of
    /// the only request that has one, unless the message may belong to an abandoned request of another owner.
    pub(super) fn handler(
        &self,
        related: Option<i64>,
    ) -> Result<Option<Arc<dyn ClientHandler>>, Ambiguous> {
        let mut state = self.state.lock();
        if let Some(id) = related {
            return Ok(state.requests.get(&id).and_then(|one| one.options.handler.clone()));
        }
        let State { requests, abandoned } = &mut *state;
        let mut candidates = requests.values().filter_map(|waiting| {
            let CallOptions { handler, owner, .. } = &waiting.options;
            handler.as_ref().map(|handler| (handler, owner.as_deref()))
        });
        match (candidates.next(), candidates.next()) {
            (None, _) => Ok(None),
            (Some((handler, owner)), None) if abandoned.are_all_of(owner) => {
                Ok(Some(Arc::clone(handler)))
            }
            _ => Err(Ambiguous),
        }
    }

    /// Extends all deadlines while the returned guard exists, up to their maximum.
    pub(super) fn pause(&self) -> Pause<'_> {
        self.pauses.fetch_add(1, Ordering::Relaxed);
        Pause(self)
    }
}

impl Abandoned {
    fn add(&mut self, request: AbandonedRequest) {
        self.expire();
        if self.requests.len() == MAX_ABANDONED {
            let removed = self.requests.pop_front();
            self.removed_until = removed.map(|removed| removed.until);
        }
        self.requests.push_back(request);
    }

    /// Whether all requests that may still send messages are known to be of this owner.
    fn are_all_of(&mut self, owner: Option<&str>) -> bool {
        self.expire();
        let is_of =
            |request: &AbandonedRequest| owner.is_some() && request.owner.as_deref() == owner;
        self.removed_until.is_none() && self.requests.iter().all(is_of)
    }

    fn expire(&mut self) {
        let now = Instant::now();
        self.requests.retain(|request| request.until > now);
        self.removed_until = self.removed_until.filter(|until| *until > now);
    }
}

/// The time after `duration`, which may be the largest.
fn after(duration: Duration) -> Instant {
    const LONG: Duration = Duration::from_secs(86_400 * 365);
    Instant::now() + duration.min(LONG)
}

pub(super) struct Pause<'p>(&'p Pending);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.state.lock().requests.values_mut().for_each(Waiting::extend);
        self.0.pauses.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    const LIMITS: TimeLimits =
        TimeLimits { timeout: Duration::from_secs(10), max: Duration::from_secs(25) };

    const LINGER: Duration = Duration::from_secs(300);

    /// The seconds after which a request fails that is extended at these seconds.
    async fn failed_after(extensions: &[u64]) -> u64 {
        let requests = Pending::new(LINGER);
        let begin = Instant::now();
        let extending = async {
            for second in extensions {
                tokio::time::sleep_until(begin + Duration::from_secs(*second)).await;
                requests.progress(1, ProgressUpdate { progress: 1.0, total: None, message: None });
            }
            pending::<()>().await;
        };
        requests.wait(1, LIMITS, CallOptions::default(), extending).await.unwrap_err().0.as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn progress_extends_deadlines_up_to_a_maximum() {
        assert_eq!(failed_after(&[]).await, 10);
        assert_eq!(failed_after(&[9]).await, 19);
        assert_eq!(failed_after(&[9, 18, 24]).await, 25);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_extend_deadlines() {
        let requests = Pending::new(LINGER);
        let paused = async {
            let pause = requests.pause();
            tokio::time::sleep(Duration::from_secs(12)).await;
            drop(pause);
            pending::<()>().await;
        };
        let elapsed = requests.wait(1, LIMITS, CallOptions::default(), paused).await.unwrap_err();
        assert_eq!(elapsed.0.as_secs(), 22);
    }

    struct Handler;

    impl ClientHandler for Handler {}

    const ADA: Option<&str> = Some("ada");
    const BOB: Option<&str> = Some("bob");

    fn options(owner: Option<&str>) -> CallOptions {
        let owner = owner.map(str::to_owned);
        CallOptions { handler: Some(Arc::new(Handler)), owner, ..CallOptions::default() }
    }

    /// Abandons a request for each of these owners, and checks whether a message without a request belongs to the
    /// request of an owner that begins later.
    #[track_caller]
    fn check(
        abandoned: &[Option<&'static str>],
        answered: &[i64],
        seconds: u64,
        expected: bool,
    ) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let requests = Pending::new(LINGER);
            for (id, owner) in (1..).zip(abandoned) {
                let waiting = requests.wait(id, LIMITS, options(*owner), pending::<()>());
                assert!(timeout_at(Instant::now(), waiting).await.is_err(), "{place}");
            }
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            answered.iter().for_each(|id| requests.answered(*id));
            let waiting = requests.wait(0, LIMITS, options(ADA), async {
                let found = requests.handler(None);
                assert_eq!(matches!(found, Ok(Some(_))), expected, "{place}");
                assert_eq!(matches!(found, Err(Ambiguous)), !expected, "{place}");
            });
            waiting.await.unwrap();
            assert!(matches!(requests.handler(None), Ok(None)), "{place}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn messages_may_belong_to_abandoned_requests() {
        check(&[], &[], 0, true).await;
        check(&[BOB], &[], 0, false).await;
        check(&[None], &[], 0, false).await;
        check(&[ADA, ADA], &[], 0, true).await;
        check(&[ADA, BOB], &[], 0, false).await;
        check(&[ADA, BOB], &[2], 0, true).await;
        check(&[ADA, BOB], &[1], 0, false).await;
        check(&[BOB], &[], 299, false).await;
        check(&[BOB], &[], 300, true).await;
        // The first one was removed.
        let mut many = vec![ADA; MAX_ABANDONED + 1];
        check(&many[1..], &[], 0, true).await;
        check(&many, &[], 0, false).await;
        check(&many, &[], 300, true).await;
        many[0] = BOB;
        check(&many, &[], 0, false).await;
    }
}
