//! Calls of an upstream, which may ask their callers for input.
//!
//! Up to 2025-11-25, the call waits while its caller answers. A caller of 2026-07-28 receives the question as the result
//! of its request, and repeats the request with the answer. In between, the call of the upstream waits in [`Waiting`],
//! so that the upstream executes it once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, sleep, sleep_until};
use trunkline_mcp::Peer;
use trunkline_mcp::client::Error;

use crate::caller::{Caller, Question, Relay};
use crate::name::UpstreamName;

/// The result of a request to an upstream.
pub(crate) type Reply = Result<Box<RawValue>, Error>;

/// A call that runs at the upstream.
pub(crate) struct RunningCall {
    /// The first part of the keys of its questions, which cannot be guessed. `None` if the system has no random numbers;
    /// then the call does not wait for a repeated request.
    prefix: Option<String>,
    subject: Subject,
    future: BoxFuture<'static, Reply>,
    relay: Arc<Relay>,
    incoming: mpsc::Receiver<Question>,
    /// The questions without an answer, by key.
    pending: BTreeMap<String, Question>,
    asked: u32,
    /// The remaining time. Waiting for answers does not count.
    remaining: Duration,
    _permit: OwnedSemaphorePermit,
}

/// The properties that are the same in all requests of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Subject {
    pub(crate) owner: Option<String>,
    pub(crate) method: &'static str,
    /// The name or URI.
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// The time of a call has elapsed.
#[derive(Debug)]
pub(crate) struct Elapsed;

/// The call to which the answers of a request belong has ended.
#[derive(Debug)]
pub(crate) struct Ended;

/// The calls of an upstream that wait until their callers repeat their requests with the answers.
pub(crate) struct Waiting {
    calls: Mutex<VecDeque<(Instant, RunningCall)>>,
    changed: Notify,
    max: usize,
    keep: Duration,
}

/// The maximum number of questions in a call.
pub(crate) const MAX_QUESTIONS: u32 = 32;

impl RunningCall {
    /// A call that has a permit. `send` sends its request, which is polled by [`run`](Self::run).
    pub(crate) fn new(
        (upstream, caller): (&UpstreamName, Caller),
        subject: Subject,
        limit: Duration,
        permit: OwnedSemaphorePermit,
        send: impl FnOnce(&Arc<Relay>) -> BoxFuture<'static, Reply>,
    ) -> Self {
        let (relay, incoming) = Relay::new(upstream.clone(), caller);
        Self {
            prefix: prefix(upstream),
            subject,
            future: send(&relay),
            relay,
            incoming,
            pending: BTreeMap::new(),
            asked: 0,
            remaining: limit,
            _permit: permit,
        }
    }

    /// Waits for the result, and sends questions to the peer. If a question ends the request of the peer, the future is
    /// dropped, and the call is added to those that wait.
    pub(crate) async fn run(self, peer: &Peer, waiting: &Waiting) -> Result<Reply, Elapsed> {
        let is_kept = peer.ends_call() && self.prefix.is_some();
        let mut attended = Attended { call: Some(self), waiting, is_kept };
        let call = attended.call.as_mut().expect("the call is taken when it is dropped");
        let mut asking = FuturesUnordered::new();
        for (key, question) in &call.pending {
            asking.push(ask(question, peer, key.clone()));
        }
        loop {
            let (begin, is_waiting) = (Instant::now(), !call.pending.is_empty());
            tokio::select! {
                // If the task is late, the reply counts, not its limit, which ends a call with many questions.
                biased;
                reply = &mut call.future => {
                    call.pending.clear();
                    return Ok(reply);
                }
                () = sleep(call.remaining), if !is_waiting => return Err(Elapsed),
                // A question beyond the maximum is dropped, and so refused.
                Some(question) = call.incoming.recv() => if call.asked < MAX_QUESTIONS {
                    call.asked += 1;
                    let key = format!("{}{}", call.prefix.as_deref().unwrap_or_default(), call.asked);
                    asking.push(ask(&question, peer, key.clone()));
                    call.pending.insert(key, question);
                },
                Some(key) = asking.next() => drop(call.pending.remove(&key)),
            }
            if !is_waiting {
                call.remaining = call.remaining.saturating_sub(begin.elapsed());
            }
        }
    }
}

/// Sends a question. Returns its key when it is answered.
fn ask(
    question: &Question,
    peer: &Peer,
    key: String,
) -> impl Future<Output = String> + Send + use<> {
    let asked = question(peer.clone(), key.clone());
    async move {
        asked.await;
        key
    }
}

impl Waiting {
    /// At most `max` calls, each for at most the time `keep`. Beyond, the oldest call of the owner who has most ends.
    pub(crate) fn new(max: usize, keep: Duration) -> Self {
        Self { calls: Mutex::default(), changed: Notify::new(), max, keep }
    }

    /// The call whose questions the caller answers. `None` if it answers none of this upstream.
    ///
    /// # Errors
    /// If the call has ended, or is another one.
    pub(crate) fn resume(
        &self,
        upstream: &UpstreamName,
        caller: &Caller,
        subject: &Subject,
    ) -> Result<Option<RunningCall>, Ended> {
        let common = common_prefix(upstream);
        let mut keys =
            caller.peer.response_keys().filter(|key| key.starts_with(&common)).peekable();
        if keys.peek().is_none() {
            return Ok(None);
        }
        let mut calls = self.lock();
        let index = keys.find_map(|key| {
            calls.iter().position(|(_, call)| {
                let has_key = call.prefix.as_ref().is_some_and(|prefix| key.starts_with(prefix));
                has_key && call.subject == *subject
            })
        });
        let (_, call) = index.and_then(|index| calls.remove(index)).ok_or(Ended)?;
        call.relay.set_caller(caller.clone());
        Ok(Some(call))
    }

    /// Ends the calls that wait too long. Does not return.
    pub(crate) async fn expire(&self) {
        loop {
            let next = self.lock().front().map(|(until, _)| *until);
            let due = async {
                match next {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = due => {}
                () = self.changed.notified() => {}
            }
            let now = Instant::now();
            self.lock().retain(|(until, _)| *until > now);
        }
    }

    /// Ends all calls.
    pub(crate) fn clear(&self) {
        // Dropped after the lock.
        let calls = std::mem::take(&mut *self.lock());
        drop(calls);
    }

    fn add(&self, call: RunningCall) {
        let mut calls = self.lock();
        calls.push_back((Instant::now() + self.keep, call));
        let owners = calls.iter().map(|(_, call)| call.subject.owner.as_deref());
        let surplus = if calls.len() > self.max { oldest_of_most(owners) } else { None };
        let ended = surplus.and_then(|index| calls.remove(index));
        drop(calls);
        drop(ended);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Instant, RunningCall)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The index of the oldest call of the owner who has most, if possible that of the last call, which is not returned itself.
fn oldest_of_most<'c>(owners: impl ExactSizeIterator<Item = Option<&'c str>>) -> Option<usize> {
    let mut owners: Vec<_> = owners.collect();
    let mut counts = HashMap::<_, usize>::new();
    for owner in &owners {
        *counts.entry(*owner).or_default() += 1;
    }
    let last = owners.pop()?;
    let first = owners.iter().enumerate().min_by_key(|(_, owner)| {
        let count = counts.get(*owner).copied().unwrap_or_default();
        (Reverse(count), **owner != last)
    });
    first.map(|(index, _)| index)
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").field("calls", &self.lock().len()).finish_non_exhaustive()
    }
}

/// A call whose caller waits for its result.
struct Attended<'w> {
    call: Option<RunningCall>,
    waiting: &'w Waiting,
    /// Whether the caller repeats its request with the answers.
    is_kept: bool,
}

impl Drop for Attended<'_> {
    fn drop(&mut self) {
        let call = self.call.take().filter(|call| self.is_kept && !call.pending.is_empty());
        if let Some(call) = call {
            self.waiting.add(call);
        }
    }
}

/// The first part of the keys of all questions of an upstream.
fn common_prefix(upstream: &UpstreamName) -> String {
    format!("upstream/{upstream}/")
}

/// The first part of the keys of a call.
fn prefix(upstream: &UpstreamName) -> Option<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).ok()?;
    Some(format!("{}{:032x}/", common_prefix(upstream), u128::from_ne_bytes(random)))
}

#[cfg(test)]
mod tests {
    use super::oldest_of_most;

    #[track_caller]
    fn check(owners: &str, expected: Option<usize>) {
        let owners = owners.split(' ').map(|owner| (owner != "-").then_some(owner));
        let all: Vec<_> = owners.collect();
        assert_eq!(oldest_of_most(all.iter().copied()), expected, "{all:?}");
    }

    #[test]
    fn calls_end_of_the_owner_who_has_most() {
        check("a", None);
        check("a a a", Some(0));
        check("a b b", Some(1));
        check("b a b b", Some(0));
        check("a b b a b", Some(1));
        check("a - -", Some(1));
        // Others get space from it.
        check("a b b c", Some(1));
        // The caller has as many as another one.
        check("b b a a", Some(2));
        // More callers than calls: each can end one.
        check("a b c", Some(0));
    }
}
