//! Batches (JSON-RPC 2.0, section 6): the same calls through the same service.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tower::Service;

use crate::call::Call;
use crate::envelope::{Entry, InvalidRequest, Request};
use crate::error::code;
use crate::history::Recording;
use crate::limits::Limits;
use crate::outcome::Outcome;

/// How long a batch may keep its thread while all of its calls end at once.
const TURN: Duration = Duration::from_millis(1);
/// How many calls run between two looks at the clock, each of which costs as much as a small call.
const CALLS_PER_LOOK: usize = 8;

/// Runs the entries of a batch, at most a number of them at a time, and joins their responses in
/// the order of the requests. None when there is nothing to answer.
pub(crate) async fn run<S>(
    service: &mut S,
    body: &Bytes,
    entries: &[Entry],
    limits: &Limits,
    mut call: impl FnMut(usize, Request) -> Call,
) -> Option<Vec<u8>>
where
    S: Service<Call, Response = Outcome, Error = Infallible>,
    S::Future: Unpin,
{
    let mut responses = Responses::new(body, entries, limits.reply_bytes);
    let mut running = FuturesUnordered::new();
    let started = Instant::now();
    let mut turn = started;
    let mut late = None;
    let mut calls: usize = 0;
    for (index, entry) in entries.iter().enumerate() {
        let request = match entry {
            Ok(request) => *request,
            Err(invalid) => {
                responses.refuse(index, invalid);
                continue;
            }
        };
        let mut call = call(index, request);
        if let Some(recording) = call.take_recording() {
            responses.recordings.insert(index, recording);
        }
        if responses.spent {
            responses.set(index, Outcome::reply_too_large(limits.reply_bytes));
            continue;
        }
        if let Some(limit) = late {
            responses.set(index, Outcome::not_started(limit));
            continue;
        }
        let mut member = Member { index, future: service.call(call) };
        // Most handlers answer at once; only the others join the set of the running ones.
        match poll_once(&mut member).await {
            Poll::Ready((index, outcome)) => responses.set(index, outcome),
            Poll::Pending => running.push(member),
        }
        while running.len() >= limits.batch_parallelism {
            if let Some((index, outcome)) = running.next().await {
                responses.set(index, outcome);
            }
            late = limits.call_timeout.filter(|limit| started.elapsed() > *limit);
        }
        calls += 1;
        if calls.is_multiple_of(CALLS_PER_LOOK) && turn.elapsed() > TURN {
            yield_now().await;
            // The deadlines of the waiting calls do not wait for the rest to be started.
            while let Poll::Ready(Some((index, outcome))) = poll_once(&mut running.next()).await {
                responses.set(index, outcome);
            }
            turn = Instant::now();
            late = limits.call_timeout.filter(|limit| started.elapsed() > *limit);
        }
    }
    while let Some((index, outcome)) = running.next().await {
        responses.set(index, outcome);
    }
    responses.join()
}

/// A call of a batch, and its place in it.
struct Member<F> {
    index: usize,
    future: F,
}

impl<F> Future for Member<F>
where
    F: Future<Output = Result<Outcome, Infallible>> + Unpin,
{
    type Output = (usize, Outcome);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let index = self.index;
        Pin::new(&mut self.future).poll(cx).map(|Ok(outcome)| (index, outcome))
    }
}

/// The responses of a batch, joined in the order of the requests.
struct Responses<'a> {
    body: &'a Bytes,
    entries: &'a [Entry],
    joined: Vec<u8>,
    /// The entry whose response is joined next.
    next: usize,
    /// What later entries are answered with. Empty as long as calls end in their order.
    waiting: BTreeMap<usize, Option<Vec<u8>>>,
    bytes: usize,
    budget: usize,
    /// Whether a response was over the budget: then nothing further is run.
    spent: bool,
    /// Of the calls that have not ended.
    recordings: BTreeMap<usize, Recording>,
}

impl<'a> Responses<'a> {
    fn new(body: &'a Bytes, entries: &'a [Entry], budget: usize) -> Self {
        let joined = Vec::with_capacity(entries.len() * USUAL);
        let (waiting, recordings) = Default::default();
        let (next, bytes, spent) = (0, 0, false);
        Self { body, entries, joined, next, waiting, bytes, budget, spent, recordings }
    }

    /// Refusals are small, and -32006 in their place would be no smaller: they always fit.
    fn refuse(&mut self, index: usize, invalid: &InvalidRequest) {
        let response = self.id(index).map(|id| Outcome::error(invalid.into()).into_response(id));
        self.put(index, response);
    }

    fn set(&mut self, index: usize, outcome: Outcome) {
        let recording = self.recordings.remove(&index);
        let mut code = outcome.code();
        let response = self.id(index).map(|id| {
            let response = outcome.into_response(id);
            if self.bytes + response.len() <= self.budget {
                return response;
            }
            self.spent = true;
            code = Some(code::REPLY_TOO_LARGE);
            Outcome::reply_too_large(self.budget).into_response(id)
        });
        if let Some(recording) = recording {
            recording.end_as(response.as_deref(), code);
        }
        self.put(index, response);
    }

    fn put(&mut self, index: usize, response: Option<Vec<u8>>) {
        self.bytes += response.as_ref().map_or(0, Vec::len);
        if index != self.next {
            self.waiting.insert(index, response);
            return;
        }
        self.append(response);
        while let Some(response) = self.waiting.remove(&self.next) {
            self.append(response);
        }
    }

    fn append(&mut self, response: Option<Vec<u8>>) {
        self.next += 1;
        if let Some(response) = response {
            self.joined.push(if self.joined.is_empty() { b'[' } else { b',' });
            self.joined.extend_from_slice(&response);
        }
    }

    /// The id to answer with; a notification has none.
    fn id(&self, index: usize) -> Option<&'a [u8]> {
        match &self.entries[index] {
            Ok(request) => request.id.map(|id| id.of(self.body)),
            Err(invalid) => Some(invalid.id.map_or(b"null", |id| id.of(self.body))),
        }
    }

    fn join(mut self) -> Option<Vec<u8>> {
        if self.joined.is_empty() {
            return None;
        }
        self.joined.push(b']');
        Some(self.joined)
    }
}

/// The bytes of a usual response.
const USUAL: usize = 64;

async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}

/// Lets the other tasks of this thread have their turn.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
