//! Execution of batches (JSON-RPC 2.0, section 6).

mod responses;

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::call::{Call, CallFuture};
use crate::envelope::{Entry, Request};
use crate::limits::calls::Limits;
use crate::limits::{OutOfMemory, Reservation};
use crate::outcome::Outcome;
use crate::reply::Reply;
pub(crate) use responses::BatchRequest;
use responses::Responses;

/// The time for which a batch may occupy its thread while all of its calls complete immediately.
const MAX_SLICE: Duration = Duration::from_millis(1);
/// The number of entries between two reads of the clock, each of which costs as much as a small call.
const ENTRIES_PER_LOOK: usize = 8;

/// The limits, scheduler and memory of a batch.
pub(crate) struct Resources<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) scheduler: &'a dyn BatchScheduler,
    /// The memory that was [reserved](reserve) for the batch.
    pub(crate) memory: Reservation,
}

/// Schedules batches: a batch starts calls while it holds a permit. A batch that has occupied its thread for a
/// millisecond releases its permit and acquires another one.
pub trait BatchScheduler: fmt::Debug + Send + Sync {
    /// Waits for a permit.
    fn acquire(&self) -> Pin<Box<dyn Future<Output = BatchPermit> + Send + '_>>;
}

/// A permit to start calls, released on drop.
pub type BatchPermit = Box<dyn Any + Send>;

/// Reserves the minimum memory for the responses of a batch.
///
/// # Errors
/// When the memory budget is exhausted.
pub(crate) fn reserve(limits: &Limits, entries: usize) -> Result<Reservation, OutOfMemory> {
    limits.memory.reserve(entries * (size_of::<Entry>() + responses::ENTRY))
}

/// Runs the entries of a batch with limited parallelism, and joins their responses in the order of the requests.
/// The returned reservation is for the reply.
pub(crate) async fn run(
    request: BatchRequest<'_>,
    resources: Resources<'_>,
    mut call: impl FnMut(usize, Request) -> Call,
    run: impl Fn(Call) -> CallFuture,
) -> (Reply, Reservation) {
    let Resources { limits, scheduler, memory } = resources;
    let mut responses = Responses::new(request, limits.reply_bytes, memory);
    let mut running = FuturesUnordered::new();
    let started = Instant::now();
    let mut permit = scheduler.acquire().await;
    let mut slice_start = Instant::now();
    let mut waited = Duration::ZERO;
    for (index, entry) in request.entries.iter().enumerate() {
        if index % ENTRIES_PER_LOOK == 0 && slice_start.elapsed() > MAX_SLICE {
            drop(permit);
            yield_now().await;
            // Poll the running calls now, so that their timeouts do not wait for the rest to be started.
            while let Poll::Ready(Some((index, outcome))) = poll_once(&mut running.next()).await {
                responses.set(index, outcome);
            }
            permit = scheduler.acquire().await;
            (slice_start, waited) = (Instant::now(), started.elapsed());
        }
        let entry = match entry {
            Ok(entry) => *entry,
            Err(invalid) => {
                responses.refuse(index, invalid);
                continue;
            }
        };
        let mut call = call(index, entry);
        if let Some(observation) = call.take_observation() {
            responses.observations.insert(index, observation);
        }
        if responses.spent {
            responses.set(index, Outcome::reply_too_large(limits.reply_bytes));
            continue;
        }
        let own = call.operation().and_then(|operation| operation.timeout());
        if let Some(limit) = own.or(limits.call_timeout).filter(|limit| waited > *limit) {
            responses.set(index, Outcome::not_started(limit));
            continue;
        }
        if let Err(error) = responses.reserve_next() {
            responses.set(index, Outcome::error(error.into()));
            continue;
        }
        let mut member = Member { index, future: run(call) };
        // Most handlers complete immediately. Only the others are added to the set.
        match poll_once(&mut member).await {
            Poll::Ready((index, outcome)) => responses.set(index, outcome),
            Poll::Pending => running.push(member),
        }
        while running.len() >= limits.batch_parallelism {
            drop(permit);
            if let Some((index, outcome)) = running.next().await {
                responses.set(index, outcome);
            }
            permit = scheduler.acquire().await;
            (slice_start, waited) = (Instant::now(), started.elapsed());
        }
    }
    drop(permit);
    while let Some((index, outcome)) = running.next().await {
        responses.set(index, outcome);
    }
    responses.join()
}

/// A running call of a batch, with its index.
struct Member {
    index: usize,
    future: CallFuture,
}

impl Future for Member {
    type Output = (usize, Outcome);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let index = self.index;
        Pin::new(&mut self.future).poll(cx).map(|Ok(outcome)| (index, outcome))
    }
}

async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}

/// Yields to the other tasks of this thread.
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
