//! The server's end of a stream.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_client::frame::FrameWriter;
use trunkline_client::frame::Key;
use trunkline_client::frame::{Frame, FrameReader, ReadError};
use trunkline_core::call::Call;
use trunkline_core::dispatch::Incoming;
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extensions::Extensions;
use trunkline_core::format::{Format, Formats};
use trunkline_core::limits::{OutOfMemory, Reservation};
use trunkline_core::reply::Reply;

use super::asked::Asked;
use super::calls::{Calls, Registration};
use super::config::StreamConfig;
use super::error::StreamError;
use super::queue::{Queue, Queued, Work};
use super::replies::Replies;
use super::request::{Request, Unanswered};
use crate::status::Counts;
use trunkline_core::dispatch::Dispatcher;
use trunkline_history::History;

/// A client that is to be served.
pub(crate) struct Connection {
    pub(crate) rpc: Dispatcher,
    pub(crate) settings: StreamConfig,
    /// What is known of the client.
    pub(crate) extensions: Extensions,
    /// What it counts together with others.
    pub(crate) counts: Arc<Counts>,
    /// What it has asked for and has not been answered, also when serving has ended.
    pub(crate) unanswered: Unanswered,
}

impl Connection {
    /// The only client of a process, or one that counts by itself.
    pub(crate) fn alone(rpc: &Dispatcher, door: &'static str, settings: StreamConfig) -> Self {
        let (extensions, counts) = (Extensions::through(door), Arc::new(Counts::new()));
        let unanswered = Unanswered::default();
        Self { rpc: rpc.clone(), settings, extensions, counts, unanswered }
    }

    /// Serves until the input ends or the stream is closed, and what was asked for is answered.
    pub(crate) async fn run(
        self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
    ) -> Result<(), StreamError> {
        let Self { rpc, settings, extensions, counts, unanswered } = self;
        let memory = &rpc.limits().memory;
        let (replies, writing) = Replies::new(memory.clone(), settings.format);
        let reader = FrameReader::new(input, settings.framing, settings.message_bytes);
        let reader = reader.counted_in(memory.clone());
        let writer = FrameWriter::new(output, settings.framing, settings.write_timeout);
        let draining = settings.closing.child_token();
        let ended = draining.clone();
        let in_flight = settings.in_flight.clamp(1, Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(in_flight));
        let drain_timeout = settings.drain_timeout;
        let taker = Taker {
            rpc,
            settings,
            extensions,
            counts,
            unanswered: unanswered.clone(),
            replies,
            places,
            queue: Queue::new(),
            calls: Calls::default(),
            tasks: JoinSet::new(),
        };
        // The replies end, and with them the writing, when the taker does.
        let taking = Box::pin(async { Ok(taker.run(reader, &ended).await) });
        let writing = async { writing.run(writer).await.map_err(StreamError::Write) };
        let served = async { tokio::try_join!(taking, writing) };
        let overdue = async {
            draining.cancelled().await;
            sleep(drain_timeout).await;
        };
        tokio::select! {
            biased;
            served = served => served?.0,
            () = overdue => Err(StreamError::Unfinished { calls: unanswered.count() }),
        }
    }
}

/// Takes messages in.
struct Taker {
    rpc: Dispatcher,
    settings: StreamConfig,
    extensions: Extensions,
    counts: Arc<Counts>,
    unanswered: Unanswered,
    replies: Replies,
    places: Arc<Semaphore>,
    queue: Queue,
    calls: Calls,
    tasks: JoinSet<()>,
}

impl Taker {
    async fn run<R: AsyncRead + Unpin>(
        mut self,
        mut reader: FrameReader<R>,
        ended: &CancellationToken,
    ) -> Result<(), StreamError> {
        let end = loop {
            // What waits for a place keeps what is behind it from being read only if it is a lot: a
            // cancel may be what makes room.
            let (calls, bytes) = (self.settings.in_flight, self.settings.message_bytes);
            let has_room = self.queue.has_room(calls, bytes);
            let read = tokio::select! {
                biased;
                () = self.settings.closing.cancelled() => break Ok(()),
                place = place(&self.places), if !self.queue.is_empty() => {
                    self.begin_next(place).await;
                    continue;
                }
                () = self.queue.stuck(self.settings.place_timeout), if !self.queue.is_empty() => {
                    for queued in self.queue.give_up() {
                        self.refuse_queued(queued, &busy()).await;
                    }
                    continue;
                }
                read = next(&mut reader, &self.settings, &self.unanswered), if has_room => read,
            };
            match read {
                Ok(Some(Frame::Message(body, named))) => self.take(body, self.format(named)).await,
                Ok(Some(Frame::TooLarge(named))) => {
                    let data = serde_json::json!({
                        "reason": "the message is too large",
                        "limit_bytes": self.settings.message_bytes,
                    });
                    let error = ErrorObject::new(code::INVALID_REQUEST, "Invalid Request");
                    self.refuse(&error.with_data(&data), self.format(named)).await;
                }
                Ok(Some(Frame::OutOfMemory(error, named))) => {
                    self.refuse(&error.into(), self.format(named)).await;
                }
                Ok(None) => break Ok(()),
                Err(ReadError::Io(error)) => break Err(StreamError::Read(error)),
                Err(error @ ReadError::Head(_)) => {
                    let reason = error.to_string();
                    let data = serde_json::json!({ "reason": reason });
                    let error = ErrorObject::new(code::PARSE_ERROR, "Parse error");
                    self.refuse(&error.with_data(&data), self.settings.format).await;
                    break Err(StreamError::Framing { reason });
                }
            }
        };
        ended.cancel();
        while !self.queue.is_empty() {
            let place = place(&self.places).await;
            self.begin_next(place).await;
        }
        while self.tasks.join_next().await.is_some() {}
        end
    }

    /// What a message is in whose head names this, or nothing.
    fn format(&self, named: Option<Format>) -> Format {
        named.unwrap_or(self.settings.format)
    }

    async fn take(&mut self, body: Bytes, format: Format) {
        if self.settings.framing.is_blank(&body, format) {
            return;
        }
        let bytes = body.len();
        let formats = Formats::both(format);
        let (incoming, encoding) = self.rpc.read_beside(formats, body, self.extensions.clone());
        match incoming {
            Incoming::Call(mut call) if is_cancellation(&call) => {
                if let Some(key) = cancelled_key(&call) {
                    self.cancel(&key).await;
                }
                if let Some(recording) = call.take_recording() {
                    recording.end_as(None, None);
                }
            }
            Incoming::Call(mut call) => {
                let asked = Asked::by_call(&call);
                let request = Request::new(asked, call.take_recording(), &self.unanswered);
                self.answer(request, Work::Call(call), bytes).await;
            }
            Incoming::Batch(batch) => {
                let asked = Asked::by_batch(&batch);
                let request = Request::new(asked, None, &self.unanswered);
                self.answer(request, Work::Batch(batch), bytes).await;
            }
            // An answer to it could be taken for that to a request of the client.
            Incoming::Response { .. } => tracing::debug!("a response to nothing is ignored"),
            Incoming::Refused { error, id } => {
                let asked = Asked::by_unread(id, encoding);
                let reply = asked.refused(&error);
                let request = Request::new(asked, None, &self.unanswered);
                self.replies.send(reply, None, request).await;
            }
        }
    }

    /// Answers what could not even be taken as a message.
    async fn refuse(&self, error: &ErrorObject, format: Format) {
        let asked = Asked::by_unread(None, None);
        if let Some(history) = History::of(&self.rpc) {
            history.refused(&self.extensions, error);
        }
        let reply = asked.refused(error).written_in(format);
        self.replies.send(reply, None, Request::new(asked, None, &self.unanswered)).await;
    }

    /// Cancels what runs or waits with this id.
    async fn cancel(&mut self, key: &Key) {
        self.calls.cancel(key);
        while let Some(queued) = self.queue.take_cancelled() {
            self.refuse_queued(queued, &cancelled()).await;
        }
    }

    /// Answers what has never begun.
    async fn refuse_queued(&self, queued: Queued, error: &ErrorObject) {
        let Queued { request, work, .. } = queued;
        if let Work::Batch(batch) = work {
            batch.refuse(error);
        }
        let reply = request.asked.refused(error);
        self.replies.send(reply, None, request).await;
    }

    /// Begins a call, or has it wait for a place.
    async fn answer(&mut self, request: Request, work: Work, bytes: usize) {
        if self.queue.is_empty()
            && let Ok(place) = Arc::clone(&self.places).try_acquire_owned()
        {
            self.queue.moves();
            return self.begin(request, work, None, place).await;
        }
        let registration = self.calls.begin(&request.asked);
        let queued = Queued { request, work, bytes, registration };
        if self.queue.is_stuck() {
            self.refuse_queued(queued, &busy()).await;
        } else {
            self.queue.push(queued);
        }
    }

    async fn begin_next(&mut self, place: Option<OwnedSemaphorePermit>) {
        if let (Some(queued), Some(place)) = (self.queue.pop(), place) {
            let Queued { request, work, registration, .. } = queued;
            self.begin(request, work, Some(registration), place).await;
        }
    }

    /// Begins a call. Most end at once, and are answered here; a task follows the others.
    async fn begin(
        &mut self,
        mut request: Request,
        work: Work,
        registration: Option<Registration>,
        place: OwnedSemaphorePermit,
    ) {
        // Until its reply is written, a call counts as one that runs: a client that does not read
        // cannot have ever more of them computed.
        request.begin(&self.counts, place);
        let rpc = self.rpc.clone();
        let answering: Answering = match work {
            Work::Call(call) => Box::pin(async move { Ok((rpc.answer(call).await, None)) }),
            Work::Batch(batch) => Box::pin(async move {
                let (reply, memory) = rpc.answer_batch_reserved(batch).await?;
                Ok((reply, Some(memory)))
            }),
        };
        // Call layers have their own isolation; this is for what is around them.
        let mut answering = AssertUnwindSafe(answering).catch_unwind();
        if let Some(answered) = (&mut answering).now_or_never() {
            let (reply, memory) = reply(answered, &request.asked);
            return self.replies.send(reply, memory, request).await;
        }
        let registration = registration.unwrap_or_else(|| self.calls.begin(&request.asked));
        let replies = self.replies.clone();
        self.tasks.spawn(async move {
            let (reply, memory) = tokio::select! {
                biased;
                answered = answering => reply(answered, &request.asked),
                () = registration.cancelled() => (request.asked.refused(&cancelled()), None),
            };
            drop(registration);
            replies.send(reply, memory, request).await;
        });
        while self.tasks.try_join_next().is_some() {}
    }
}

/// A place among the calls that run, as soon as there is one.
async fn place(places: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    // The semaphore is never closed.
    Arc::clone(places).acquire_owned().await.ok()
}

fn cancelled() -> ErrorObject {
    ErrorObject::new(code::CANCELLED, "Request cancelled")
}

fn busy() -> ErrorObject {
    let reason = "the calls of this connection that run have taken all places for too long";
    ErrorObject::new(code::BUSY, "Server is busy")
        .with_data(&serde_json::json!({ "reason": reason }))
}

/// A reply, with the memory that is reserved for it so far.
type Reserved = (Reply, Option<Reservation>);
type Answering = Pin<Box<dyn Future<Output = Result<Reserved, OutOfMemory>> + Send>>;
type Answered = Result<Result<Reserved, OutOfMemory>, Box<dyn std::any::Any + Send>>;

fn reply(answered: Answered, asked: &Asked) -> Reserved {
    let error = match answered {
        Ok(Ok(reserved)) => return reserved,
        Ok(Err(error)) => error.into(),
        Err(_) => ErrorObject::internal(&"the service panicked outside of a call"),
    };
    (asked.refused(&error), None)
}

async fn next<R: AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
    settings: &StreamConfig,
    unanswered: &Unanswered,
) -> Result<Option<Frame>, ReadError> {
    let Some(idle) = settings.idle_timeout else {
        return reader.next_within(settings.message_timeout).await;
    };
    loop {
        match timeout(idle, reader.next_within(settings.message_timeout)).await {
            Ok(read) => return read,
            // Who waits for a reply is not idle.
            Err(_) if unanswered.count() > 0 => {}
            Err(_) => return Ok(None),
        }
    }
}

fn is_cancellation(call: &Call) -> bool {
    call.is_notification() && call.method() == "$/cancelRequest"
}

/// What a client wants to be cancelled.
fn cancelled_key(call: &Call) -> Option<Key> {
    let (_, id) = call.members().find(|(name, _)| name == "id")?;
    std::str::from_utf8(call.text(id)).ok().map(Key::of)
}
