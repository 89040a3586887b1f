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
#[cfg(feature = "edn")]
use crate::edn::{self, EdnReply};
use crate::envelope::{Entry, InvalidRequest, Request};
use crate::error::code;
#[cfg(feature = "edn")]
use crate::format::Format;
use crate::format::{Aside, Asides};
use crate::history::Recording;
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::rpc::Reply;

/// How long a batch may keep its thread while all of its calls end at once.
const TURN: Duration = Duration::from_millis(1);
/// How many calls run between two looks at the clock, each of which costs as much as a small call.
const CALLS_PER_LOOK: usize = 8;

/// A batch that was read.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) body: &'a Bytes,
    pub(crate) entries: &'a [Entry],
    pub(crate) asides: &'a Asides,
}

/// Runs the entries of a batch, at most a number of them at a time, and joins their responses in
/// the order of the requests.
pub(crate) async fn run<S>(
    service: &mut S,
    asked: Asked<'_>,
    limits: &Limits,
    mut call: impl FnMut(usize, Request) -> Call,
) -> Reply
where
    S: Service<Call, Response = Outcome, Error = Infallible>,
    S::Future: Unpin,
{
    let mut responses = Responses::new(asked, limits.reply_bytes);
    let mut running = FuturesUnordered::new();
    let started = Instant::now();
    let mut turn = started;
    let mut late = None;
    let mut calls: usize = 0;
    for (index, entry) in asked.entries.iter().enumerate() {
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
    asked: Asked<'a>,
    joined: Joined,
    /// The entry whose response is joined next.
    next: usize,
    /// What later entries are answered with. Empty as long as calls end in their order.
    waiting: BTreeMap<usize, Option<Response>>,
    bytes: usize,
    budget: usize,
    /// Whether a response was over the budget: then nothing further is run.
    spent: bool,
    /// Of the calls that have not ended.
    recordings: BTreeMap<usize, Recording>,
}

impl<'a> Responses<'a> {
    fn new(asked: Asked<'a>, budget: usize) -> Self {
        let joined = Joined::of(asked.entries.len());
        let (waiting, recordings) = Default::default();
        let (next, bytes, spent) = (0, 0, false);
        Self { asked, joined, next, waiting, bytes, budget, spent, recordings }
    }

    /// Refusals are small, and -32006 in their place would be no smaller: they always fit.
    fn refuse(&mut self, index: usize, invalid: &InvalidRequest) {
        let response = self.response(index, Outcome::error(invalid.into()));
        self.put(index, response);
    }

    fn set(&mut self, index: usize, outcome: Outcome) {
        let recording = self.recordings.remove(&index);
        let mut code = outcome.code();
        let mut response = self.response(index, outcome);
        if let Some(found) = &response {
            code = found.code;
            if self.bytes + found.len() > self.budget {
                self.spent = true;
                code = Some(code::REPLY_TOO_LARGE);
                response = self.response(index, Outcome::reply_too_large(self.budget));
            }
        }
        if let Some(recording) = recording {
            recording.end_as(response.as_ref().map(|response| &*response.json), code);
        }
        self.put(index, response);
    }

    fn put(&mut self, index: usize, response: Option<Response>) {
        self.bytes += response.as_ref().map_or(0, Response::len);
        if index != self.next {
            self.waiting.insert(index, response);
            return;
        }
        self.append(response);
        while let Some(response) = self.waiting.remove(&self.next) {
            self.append(response);
        }
    }

    fn append(&mut self, response: Option<Response>) {
        self.next += 1;
        if let Some(response) = response {
            self.joined.push(&response);
        }
    }

    /// The response that an outcome is; none to a notification.
    fn response(&self, index: usize, outcome: Outcome) -> Option<Response> {
        let id = self.id(index)?;
        let aside = self.asked.asides.of(index);
        Some(Response::of(outcome, id, aside))
    }

    /// The id to answer with; a notification has none.
    fn id(&self, index: usize) -> Option<&'a [u8]> {
        let Asked { body, entries, .. } = self.asked;
        match &entries[index] {
            Ok(request) => request.id.map(|id| id.of(body)),
            Err(invalid) => Some(invalid.id.map_or(b"null", |id| id.of(body))),
        }
    }

    fn join(self) -> Reply {
        self.joined.end()
    }
}

/// What one entry is answered with.
struct Response {
    json: Vec<u8>,
    code: Option<i64>,
    /// The same in EDN, if that is wanted.
    #[cfg(feature = "edn")]
    edn: Option<Vec<u8>>,
}

impl Response {
    #[cfg(feature = "edn")]
    fn of(outcome: Outcome, id: &[u8], aside: Option<&Aside>) -> Self {
        let (outcome, edn) = match aside.filter(|aside| aside.reply() == Format::Edn) {
            Some(aside) => {
                let (outcome, edn) = edn::response(outcome, id, aside);
                (outcome, Some(edn))
            }
            None => (outcome, None),
        };
        let code = outcome.code();
        Self { json: outcome.into_response(id), code, edn }
    }

    #[cfg(not(feature = "edn"))]
    fn of(outcome: Outcome, id: &[u8], _aside: Option<&Aside>) -> Self {
        let code = outcome.code();
        Self { json: outcome.into_response(id), code }
    }

    /// How many bytes are sent.
    fn len(&self) -> usize {
        #[cfg(feature = "edn")]
        if let Some(edn) = &self.edn {
            return edn.len();
        }
        self.json.len()
    }
}

/// Responses as one array.
#[derive(Default)]
struct Joined {
    json: Vec<u8>,
    #[cfg(feature = "edn")]
    edn: Vec<u8>,
}

impl Joined {
    fn of(entries: usize) -> Self {
        Self { json: Vec::with_capacity(entries * USUAL), ..Self::default() }
    }

    fn push(&mut self, response: &Response) {
        self.json.push(if self.json.is_empty() { b'[' } else { b',' });
        self.json.extend_from_slice(&response.json);
        #[cfg(feature = "edn")]
        if let Some(edn) = &response.edn {
            self.edn.push(if self.edn.is_empty() { b'[' } else { b' ' });
            self.edn.extend_from_slice(edn);
        }
    }

    fn end(mut self) -> Reply {
        if self.json.is_empty() {
            return Reply::None;
        }
        self.json.push(b']');
        let json = Reply::Batch { json: self.json };
        #[cfg(feature = "edn")]
        if !self.edn.is_empty() {
            self.edn.push(b']');
            return Reply::Edn(Box::new(EdnReply { json, text: self.edn }));
        }
        json
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
