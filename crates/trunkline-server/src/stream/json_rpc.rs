//! The JSON-RPC protocol on streams.

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
use super::request::{ExpectedReply, Message, Replies, Request, Unanswered};
use super::slots::CallSlots;
use super::transport::{self, Protocol, Refused, StreamError};
use crate::status::Counts;

/// The connection of a client.
pub(crate) struct Connection {
    pub(crate) rpc: Dispatcher,
    /// The extensions of all calls of the client.
    pub(crate) extensions: Extensions,
    /// The counters, which connections of a server share.
    pub(crate) counts: Arc<Counts>,
    /// The number of unanswered requests, also after serving has ended.
    pub(crate) unanswered: Unanswered,
}

impl Connection {
    /// A connection with separate counters.
    pub(crate) fn standalone(rpc: &Dispatcher, endpoint: &'static str) -> Self {
        let (extensions, counts) = (Extensions::from_endpoint(endpoint), Arc::new(Counts::new()));
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

    /// Creates the protocol and its stream of messages.
    pub(crate) fn open(
        self,
        config: &StreamConfig,
    ) -> (impl Protocol + use<>, impl Stream<Item = Vec<Message>> + use<>) {
        let memory = self.rpc.limits().memory.clone();
        let (replies, messages) = Replies::new(memory, config.format);
        let slots = Arc::new(CallSlots::new(config));
        let (calls, tasks) = (Calls::default(), JoinSet::new());
        (JsonRpc { client: self, replies, slots, calls, tasks }, messages)
    }
}

struct JsonRpc {
    client: Connection,
    replies: Replies,
    slots: Arc<CallSlots>,
    calls: Calls,
    tasks: JoinSet<()>,
}

impl Protocol for JsonRpc {
    fn formats(&self) -> &'static [Format] {
        self.client.rpc.formats()
    }

    async fn receive(&mut self, message: Result<Bytes, Refused>, format: Format) {
        let body = match message {
            Ok(body) => body,
            Err(refused) => return self.refuse(&refused.error, format).await,
        };
        let bytes = body.len();
        let Connection { rpc, extensions, unanswered, .. } = &self.client;
        let (incoming, encoding) =
            rpc.read_with_encoding(Formats::both(format), body, extensions.clone());
        match incoming {
            Incoming::Call(mut call) if is_cancellation(&call) => {
                if let Some(key) = cancelled_key(&call) {
                    self.calls.cancel(&key);
                }
                if let Some(observation) = call.take_observation() {
                    observation.end_with_response(None, None);
                }
            }
            Incoming::Call(mut call) => {
                let expected = ExpectedReply::to_call(&call);
                let request = Request::new(expected, call.take_observation(), unanswered);
                self.answer(request, Work::Call(call), bytes).await;
            }
            Incoming::Batch(batch) => {
                let request = Request::new(ExpectedReply::to_batch(&batch), None, unanswered);
                self.answer(request, Work::Batch(batch), bytes).await;
            }
            // A reply to it could be mistaken for the reply to a request of the client.
            Incoming::Response { .. } => tracing::debug!("ignoring an unexpected response"),
            Incoming::Refused { error, id, .. } => {
                let expected = ExpectedReply::to_invalid(id, encoding);
                let request = Request::new(expected, None, unanswered);
                self.replies.send(request.expected.error(&error), None, request).await;
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
    /// Refuses a message that cannot be parsed.
    async fn refuse(&self, error: &ErrorObject, format: Format) {
        let Connection { rpc, extensions, unanswered, .. } = &self.client;
        if let Some(history) = History::of(rpc) {
            history.record_refusal(extensions, error);
        }
        let request = Request::new(ExpectedReply::to_invalid(None, None), None, unanswered);
        let reply = request.expected.error(error).into_format(format);
        self.replies.send(reply, None, request).await;
    }

    /// Starts or queues a call. A call counts as running until its reply is written, so that a client that does
    /// not read replies cannot start further calls.
    async fn answer(&mut self, mut request: Request, work: Work, bytes: usize) {
        while self.tasks.try_join_next().is_some() {}
        let Some(slot) = self.slots.try_acquire() else {
            return self.queue(request, work, bytes).await;
        };
        request.start(&self.client.counts, slot);
        let mut answering = work.run(self.client.rpc.clone());
        // Most calls complete immediately. The others continue in a task.
        if let Some(answered) = (&mut answering).now_or_never() {
            let (reply, memory) = reply(answered, &request.expected);
            return self.replies.send(reply, memory, request).await;
        }
        let registration = self.calls.begin(request.expected.ids().map(Key::from));
        self.tasks.spawn(follow(answering, request, registration, self.replies.clone()));
    }

    /// Queues a call until a slot is free. Further messages are read in the meantime, unless the queue is full:
    /// one of them may cancel a running call.
    async fn queue(&mut self, mut request: Request, work: Work, bytes: usize) {
        let replies = self.replies.clone();
        if self.slots.is_stuck() {
            return work.refuse(&busy(), request, &replies).await;
        }
        let registration = self.calls.begin(request.expected.ids().map(Key::from));
        let (rpc, counts) = (self.client.rpc.clone(), Arc::clone(&self.client.counts));
        let slots = Arc::clone(&self.slots);
        let mut waiting = Box::pin(async move {
            let slot = tokio::select! {
                biased;
                () = registration.cancelled() => Err(cancelled()),
                slot = slots.acquire(bytes) => slot.ok_or_else(busy),
            };
            match slot {
                Ok(slot) => {
                    request.start(&counts, slot);
                    follow(work.run(rpc), request, registration, replies).await;
                }
                Err(error) => work.refuse(&error, request, &replies).await,
            }
        });
        // The first poll puts the call into the queue. A task continues it.
        if (&mut waiting).now_or_never().is_none() {
            self.tasks.spawn(waiting);
        }
        self.slots.queue_not_full().await;
    }
}

/// The calls of a message.
enum Work {
    Call(Call),
    Batch(Batch),
}

/// A reply with the memory reserved for it.
type Reserved = (Reply, Option<Reservation>);
type Answering = Pin<Box<dyn Future<Output = Result<Reserved, OutOfMemory>> + Send>>;
type Answered = Result<Result<Reserved, OutOfMemory>, Box<dyn std::any::Any + Send>>;

impl Work {
    /// Runs the calls. Calls catch panics themselves; this catches panics outside of calls.
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

    /// Refuses calls that have not started.
    async fn refuse(self, error: &ErrorObject, request: Request, replies: &Replies) {
        if let Self::Batch(batch) = self {
            batch.refuse(error);
        }
        replies.send(request.expected.error(error), None, request).await;
    }
}

/// Waits until a running call ends or is cancelled, and queues its reply.
async fn follow(
    answering: impl Future<Output = Answered>,
    request: Request,
    registration: Registration,
    replies: Replies,
) {
    let (reply, memory) = tokio::select! {
        biased;
        answered = answering => reply(answered, &request.expected),
        () = registration.cancelled() => (request.expected.error(&cancelled()), None),
    };
    drop(registration);
    replies.send(reply, memory, request).await;
}

fn reply(answered: Answered, expected: &ExpectedReply) -> Reserved {
    let error = match answered {
        Ok(Ok(reserved)) => return reserved,
        Ok(Err(error)) => error.into(),
        Err(_) => ErrorObject::internal(&"service panicked outside of a call"),
    };
    (expected.error(&error), None)
}

fn cancelled() -> ErrorObject {
    ErrorObject::new(code::CANCELLED, "Request cancelled")
}

fn busy() -> ErrorObject {
    let reason = "too many running calls on this connection";
    ErrorObject::new(code::BUSY, "Server is busy")
        .with_data(&serde_json::json!({ "reason": reason }))
}

fn is_cancellation(call: &Call) -> bool {
    call.is_notification() && call.method() == "$/cancelRequest"
}

/// The id of the call to cancel.
fn cancelled_key(call: &Call) -> Option<Key> {
    let (_, id) = call.members().find(|(name, _)| name == "id")?;
    std::str::from_utf8(call.text(id)).ok().map(Key::of)
}
