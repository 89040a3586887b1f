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

use super::StreamError;
use super::asked::Asked;
use super::calls::Calls;
use super::key::Key;
use super::reader::{Frame, FrameReader, ReadError};
use super::replies::Replies;
use super::settings::Settings;
use super::writer::FrameWriter;
use crate::call::Call;
use crate::error::{ErrorObject, code};
use crate::extensions::Extensions;
use crate::id::Id;
use crate::rpc::{Incoming, Reply, Rpc};
use crate::server::Counts;

/// A client that is to be served.
pub(crate) struct Connection {
    pub(crate) rpc: Rpc,
    pub(crate) settings: Settings,
    /// What is known of the client.
    pub(crate) extensions: Extensions,
    /// What it counts together with others.
    pub(crate) counts: Arc<Counts>,
}

impl Connection {
    /// The only client of a process, or one that counts by itself.
    pub(crate) fn alone(rpc: &Rpc, door: &'static str, settings: Settings) -> Self {
        let (extensions, counts) = (Extensions::through(door), Arc::new(Counts::new()));
        Self { rpc: rpc.clone(), settings, extensions, counts }
    }

    /// Serves until the input ends or the stream is closed, and what was asked for is answered.
    pub(crate) async fn run(
        self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
    ) -> Result<(), StreamError> {
        let Self { rpc, settings, extensions, counts } = self;
        let (replies, writing) = Replies::new(Arc::clone(&counts), settings.reply_bytes);
        let reader = FrameReader::new(input, settings.framing, settings.message_bytes);
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
            replies,
            places: Arc::clone(&places),
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
            () = overdue => {
                Err(StreamError::Unfinished { calls: in_flight - places.available_permits() })
            }
        }
    }
}

/// Takes messages in.
struct Taker {
    rpc: Rpc,
    settings: Settings,
    extensions: Extensions,
    counts: Arc<Counts>,
    replies: Replies,
    places: Arc<Semaphore>,
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
            let read = tokio::select! {
                biased;
                () = self.settings.closing.cancelled() => break Ok(()),
                read = next(&mut reader, &self.settings) => read,
            };
            match read {
                Ok(Some(Frame::Message(body))) => self.take(body).await,
                Ok(Some(Frame::TooLarge)) => {
                    let data = serde_json::json!({
                        "reason": "the message is too large",
                        "limit_bytes": self.settings.message_bytes,
                    });
                    self.refuse(code::INVALID_REQUEST, "Invalid Request", &data).await;
                }
                Ok(None) => break Ok(()),
                Err(ReadError::Io(error)) => break Err(StreamError::Read(error)),
                Err(error @ ReadError::Head(_)) => {
                    let reason = error.to_string();
                    let data = serde_json::json!({ "reason": reason });
                    self.refuse(code::PARSE_ERROR, "Parse error", &data).await;
                    break Err(StreamError::Framing { reason });
                }
            }
        };
        ended.cancel();
        while self.tasks.join_next().await.is_some() {}
        end
    }

    async fn take(&mut self, body: Bytes) {
        match self.rpc.read(body, self.extensions.clone()) {
            Incoming::Call(call) if is_cancellation(&call) => {
                if let Some(key) = cancelled_key(&call) {
                    self.calls.cancel(&key);
                }
            }
            Incoming::Call(call) => {
                let asked = call.id().map_or(Asked::Nothing, Asked::Call);
                let rpc = self.rpc.clone();
                self.answer(asked, Box::pin(async move { rpc.answer(call).await })).await;
            }
            Incoming::Batch(batch) => {
                let asked = Asked::Batch(batch.ids().collect());
                let rpc = self.rpc.clone();
                self.answer(asked, Box::pin(async move { rpc.answer_batch(batch).await })).await;
            }
            // An answer to it could be taken for that to a request of the client.
            Incoming::Response { .. } => tracing::debug!("a response to nothing is ignored"),
            Incoming::Refused { error, id } => {
                let asked = Asked::Call(id.unwrap_or(Id::NULL));
                self.replies.send(asked.refused(&error), &asked).await;
            }
        }
    }

    /// Answers what could not even be taken as a message.
    async fn refuse(&self, code: i64, message: &'static str, data: &serde_json::Value) {
        let asked = Asked::Call(Id::NULL);
        let error = ErrorObject::new(code, message).with_data(data);
        self.replies.send(asked.refused(&error), &asked).await;
    }

    /// Begins a call. Most end at once, and are answered here; a task follows the others.
    async fn answer(&mut self, asked: Asked, answering: Answering) {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&self.places).acquire_owned().await else { return };
        let begun = Begun::count(&self.counts, place);
        // Call layers have their own isolation; this is for what is around them.
        let mut answering = AssertUnwindSafe(answering).catch_unwind();
        if let Some(answered) = (&mut answering).now_or_never() {
            self.replies.send(reply(answered, &asked), &asked).await;
            return drop(begun);
        }
        let (registration, replies) = (self.calls.begin(&asked), self.replies.clone());
        self.tasks.spawn(async move {
            let reply = tokio::select! {
                biased;
                answered = answering => reply(answered, &asked),
                () = registration.cancelled() => {
                    asked.refused(&ErrorObject::new(code::CANCELLED, "Request cancelled"))
                }
            };
            drop(registration);
            // Until there is room for its reply, a call counts as one that runs: a client that does
            // not read cannot have ever more of them computed.
            replies.send(reply, &asked).await;
            drop(begun);
        });
        while self.tasks.try_join_next().is_some() {}
    }
}

type Answering = Pin<Box<dyn Future<Output = Reply> + Send>>;
type Answered = Result<Reply, Box<dyn std::any::Any + Send>>;

fn reply(answered: Answered, asked: &Asked) -> Reply {
    answered.unwrap_or_else(|_| {
        asked.refused(&ErrorObject::internal(&"the service panicked outside of a call"))
    })
}

async fn next<R: AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
    settings: &Settings,
) -> Result<Option<Frame>, ReadError> {
    match settings.idle_timeout {
        None => reader.next().await,
        Some(idle) => timeout(idle, reader.next()).await.unwrap_or(Ok(None)),
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

/// A call that is counted until it is dropped.
struct Begun {
    counts: Arc<Counts>,
    _place: OwnedSemaphorePermit,
}

impl Begun {
    fn count(counts: &Arc<Counts>, place: OwnedSemaphorePermit) -> Self {
        counts.request_begun();
        Self { counts: Arc::clone(counts), _place: place }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.counts.request_ended();
    }
}
