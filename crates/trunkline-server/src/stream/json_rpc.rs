//! JSON-RPC on a stream.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::CatchUnwind;
use futures_util::{FutureExt, Stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use trunkline_client::frame::{FrameWriter, Key};
use trunkline_core::call::Call;
use trunkline_core::dispatch::{Batch, Dispatcher, Incoming};
use trunkline_core::error::{ErrorObject, code};
use trunkline_core::extensions::Extensions;
use trunkline_core::format::{Format, Formats};
use trunkline_core::limits::{MemoryBudget, OutOfMemory, Reservation};
use trunkline_core::reply::Reply;
use trunkline_history::History;

use super::calls::{Calls, Registration};
use super::config::StreamConfig;
use super::places::Places;
use super::request::{Asked, Message, Replies, Request, Unanswered};
use super::transport::{self, Protocol, StreamError};
use crate::status::Counts;

/// A client to be served.
pub(crate) struct Connection {
    pub(crate) rpc: Dispatcher,
    /// The extensions of all calls of the client.
    pub(crate) extensions: Extensions,
    /// What it counts together with others.
    pub(crate) counts: Arc<Counts>,
    /// Its requests without an answer, also after serving has ended.
    pub(crate) unanswered: Unanswered,
}

impl Connection {
    /// The only client of a process, or one that counts by itself.
    pub(crate) fn alone(rpc: &Dispatcher, door: &'static str) -> Self {
        let (extensions, counts) = (Extensions::from_endpoint(door), Arc::new(Counts::new()));
        Self { rpc: rpc.clone(), extensions, counts, unanswered: Unanswered::default() }
    }

    /// Serves until the input ends or the stream is closed, and all requests are answered.
    pub(crate) async fn run(
        self,
        input: impl AsyncRead + Send + Unpin,
        output: impl AsyncWrite + Unpin,
        config: &StreamConfig,
    ) -> Result<(), StreamError> {
        let (protocol, messages) = self.open(config);
        let writer = FrameWriter::new(output, config.framing, config.write_timeout);
        transport::serve(protocol, input, transport::write(messages, writer), config).await
    }

    /// The protocol with this client, and its messages.
    pub(crate) fn open(
        self,
        config: &StreamConfig,
    ) -> (impl Protocol + use<>, impl Stream<Item = Vec<Message>> + use<>) {
        let memory = self.rpc.limits().memory.clone();
        let (replies, messages) = Replies::new(memory, config.format);
        let places = Arc::new(Places::new(config));
        let (calls, tasks) = (Calls::default(), JoinSet::new());
        (JsonRpc { client: self, replies, places, calls, tasks }, messages)
    }
}

struct JsonRpc {
    client: Connection,
    replies: Replies,
    places: Arc<Places>,
    calls: Calls,
    tasks: JoinSet<()>,
}

impl Protocol for JsonRpc {
    async fn take(&mut self, message: Result<Bytes, ErrorObject>, format: Format) {
        let body = match message {
            Ok(body) => body,
            Err(error) => return self.refuse(&error, format).await,
        };
        let bytes = body.len();
        let Connection { rpc, extensions, unanswered, .. } = &self.client;
        let (incoming, encoding) = rpc.read_with_encoding(Formats::both(format), body, extensions.clone());
        match incoming {
            Incoming::Call(mut call) if is_cancellation(&call) => {
                if let Some(key) = cancelled_key(&call) {
                    self.calls.cancel(&key);
                }
                if let Some(recording) = call.take_recording() {
                    recording.end_with_response(None, None);
                }
            }
            Incoming::Call(mut call) => {
                let asked = Asked::by_call(&call);
                let request = Request::new(asked, call.take_recording(), unanswered);
                self.answer(request, Work::Call(call), bytes).await;
            }
            Incoming::Batch(batch) => {
                let request = Request::new(Asked::by_batch(&batch), None, unanswered);
                self.answer(request, Work::Batch(batch), bytes).await;
            }
            // An answer to it could be taken for that to a request of the client.
            Incoming::Response { .. } => tracing::debug!("a response to nothing is ignored"),
            Incoming::Refused { error, id } => {
                let request = Request::new(Asked::by_unread(id, encoding), None, unanswered);
                self.replies.send(request.asked.refused(&error), None, request).await;
            }
        }
    }

    async fn finish(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    fn unanswered(&self) -> impl Fn() -> usize + Send + Sync + 'static {
        let unanswered = self.client.unanswered.clone();
        move || unanswered.count()
    }

    fn memory(&self) -> &MemoryBudget {
        &self.client.rpc.limits().memory
    }
}

impl JsonRpc {
    /// Answers a message that cannot be read.
    async fn refuse(&self, error: &ErrorObject, format: Format) {
        let Connection { rpc, extensions, unanswered, .. } = &self.client;
        if let Some(history) = History::of(rpc) {
            history.record_refusal(extensions, error);
        }
        let request = Request::new(Asked::by_unread(None, None), None, unanswered);
        let reply = request.asked.refused(error).into_format(format);
        self.replies.send(reply, None, request).await;
    }

    /// Begins a call, or has it wait for a place. Until its reply is written, a call counts as one that
    /// runs: a client that does not read cannot have ever more of them computed.
    async fn answer(&mut self, mut request: Request, work: Work, bytes: usize) {
        while self.tasks.try_join_next().is_some() {}
        let Some(place) = self.places.take() else {
            return self.wait(request, work, bytes).await;
        };
        request.begin(&self.client.counts, place);
        let mut answering = work.run(self.client.rpc.clone());
        // Most calls end at once. A task follows the others.
        if let Some(answered) = (&mut answering).now_or_never() {
            let (reply, memory) = reply(answered, &request.asked);
            return self.replies.send(reply, memory, request).await;
        }
        let registration = self.calls.begin(request.asked.ids().map(Key::from));
        self.tasks.spawn(follow(answering, request, registration, self.replies.clone()));
    }

    /// Has a call wait for a place. Messages behind it are read meanwhile, unless too many calls wait: a
    /// cancel may be what makes room.
    async fn wait(&mut self, mut request: Request, work: Work, bytes: usize) {
        let replies = self.replies.clone();
        if self.places.is_stuck() {
            return work.refuse(&busy(), request, &replies).await;
        }
        let registration = self.calls.begin(request.asked.ids().map(Key::from));
        let (rpc, counts) = (self.client.rpc.clone(), Arc::clone(&self.client.counts));
        let places = Arc::clone(&self.places);
        let mut waiting = Box::pin(async move {
            let place = tokio::select! {
                biased;
                () = registration.cancelled() => Err(cancelled()),
                place = places.wait(bytes) => place.ok_or_else(busy),
            };
            match place {
                Ok(place) => {
                    request.begin(&counts, place);
                    follow(work.run(rpc), request, registration, replies).await;
                }
                Err(error) => work.refuse(&error, request, &replies).await,
            }
        });
        // From here on it is in the queue. A task follows it.
        if (&mut waiting).now_or_never().is_none() {
            self.tasks.spawn(waiting);
        }
        self.places.room().await;
    }
}

/// The calls of a message.
enum Work {
    Call(Call),
    Batch(Batch),
}

/// A reply, with the memory that is reserved for it so far.
type Reserved = (Reply, Option<Reservation>);
type Answering = Pin<Box<dyn Future<Output = Result<Reserved, OutOfMemory>> + Send>>;
type Answered = Result<Result<Reserved, OutOfMemory>, Box<dyn std::any::Any + Send>>;

impl Work {
    /// Call layers have their own isolation; this is for what is around them.
    fn run(self, rpc: Dispatcher) -> CatchUnwind<AssertUnwindSafe<Answering>> {
        let answering: Answering = match self {
            Self::Call(call) => Box::pin(async move { Ok((rpc.answer(call).await, None)) }),
            Self::Batch(batch) => Box::pin(async move {
                let (reply, memory) = rpc.answer_batch_reserved(batch).await?;
                Ok((reply, Some(memory)))
            }),
        };
        AssertUnwindSafe(answering).catch_unwind()
    }

    /// Answers what has never begun.
    async fn refuse(self, error: &ErrorObject, request: Request, replies: &Replies) {
        if let Self::Batch(batch) = self {
            batch.refuse(error);
        }
        replies.send(request.asked.refused(error), None, request).await;
    }
}

/// Follows a call that runs, until it has ended or is cancelled and its reply is on its way.
async fn follow(
    answering: impl Future<Output = Answered>,
    request: Request,
    registration: Registration,
    replies: Replies,
) {
    let (reply, memory) = tokio::select! {
        biased;
        answered = answering => reply(answered, &request.asked),
        () = registration.cancelled() => (request.asked.refused(&cancelled()), None),
    };
    drop(registration);
    replies.send(reply, memory, request).await;
}

fn reply(answered: Answered, asked: &Asked) -> Reserved {
    let error = match answered {
        Ok(Ok(reserved)) => return reserved,
        Ok(Err(error)) => error.into(),
        Err(_) => ErrorObject::internal(&"the service panicked outside of a call"),
    };
    (asked.refused(&error), None)
}

fn cancelled() -> ErrorObject {
    ErrorObject::new(code::CANCELLED, "Request cancelled")
}

fn busy() -> ErrorObject {
    let reason = "the calls of this connection that run have taken all places for too long";
    ErrorObject::new(code::BUSY, "Server is busy")
        .with_data(&serde_json::json!({ "reason": reason }))
}

fn is_cancellation(call: &Call) -> bool {
    call.is_notification() && call.method() == "$/cancelRequest"
}

/// The id of the call that a client cancels.
fn cancelled_key(call: &Call) -> Option<Key> {
    let (_, id) = call.members().find(|(name, _)| name == "id")?;
    std::str::from_utf8(call.text(id)).ok().map(Key::of)
}
