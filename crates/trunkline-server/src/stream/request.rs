//! JSON-RPC requests on a stream, and their replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::Stream;
use futures_util::stream::poll_fn;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use trunkline_core::call::{Call, Observation};
use trunkline_core::dispatch::Batch;
use trunkline_core::error::ErrorObject;
use trunkline_core::format::{Encoding, Format};
use trunkline_core::id::Id;
use trunkline_core::limits::{MemoryBudget, Reservation};
use trunkline_core::outcome::Outcome;
use trunkline_core::reply::Reply;

use crate::status::Counts;

/// A request whose reply has not been written.
pub(super) struct Request {
    pub(super) expected: ExpectedReply,
    /// The observation of a single call. Calls of a batch have their own.
    observation: Option<Arc<dyn Observation>>,
    running: Option<Running>,
    unanswered: Unanswered,
}

/// A message to a client. Its memory is reserved until it is written.
pub struct Message {
    pub(super) text: Vec<u8>,
    /// The format to declare in the header of the message, if any.
    pub(super) format: Option<Format>,
    pub(super) _memory: Option<Reservation>,
    pub(super) request: Option<Request>,
}

impl Message {
    /// A message in JSON, with an optional memory reservation.
    #[must_use]
    pub fn json(text: Vec<u8>, memory: Option<Reservation>) -> Self {
        Self { text, format: None, _memory: memory, request: None }
    }
}

/// The expected reply to a message.
#[derive(Debug)]
pub(super) enum ExpectedReply {
    /// No reply: the message is a notification.
    Nothing,
    /// A response.
    Call(ExpectedResponse),
    /// An array of responses.
    Batch(Vec<ExpectedResponse>),
}

/// A response with this id, in the format of its request.
#[derive(Debug)]
pub(super) struct ExpectedResponse {
    id: Id,
    encoding: Option<Encoding>,
}

/// The number of unanswered requests of a connection. Clones share the number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unanswered(Arc<AtomicUsize>);

/// The slot and the count of a running request.
struct Running {
    counts: Arc<Counts>,
    _slot: OwnedSemaphorePermit,
}

impl Request {
    pub(super) fn new(
        expected: ExpectedReply,
        observation: Option<Arc<dyn Observation>>,
        unanswered: &Unanswered,
    ) -> Self {
        unanswered.0.fetch_add(1, Ordering::Relaxed);
        Self { expected, observation, running: None, unanswered: unanswered.clone() }
    }

    /// Marks the request as running.
    pub(super) fn start(&mut self, counts: &Arc<Counts>, slot: OwnedSemaphorePermit) {
        counts.request_started();
        self.running = Some(Running { counts: Arc::clone(counts), _slot: slot });
    }

    /// Marks the request as answered. A request that is dropped otherwise remains unanswered.
    pub(super) fn finish(self) {
        self.unanswered.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Unanswered {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.counts.request_ended();
    }
}

impl ExpectedReply {
    pub(super) fn to_call(call: &Call) -> Self {
        let response = |id| ExpectedResponse { id, encoding: call.encoding().cloned() };
        call.id().map_or(Self::Nothing, |id| Self::Call(response(id)))
    }

    pub(super) fn to_batch(batch: &Batch) -> Self {
        let replies = batch.expected_replies();
        Self::Batch(replies.map(|(id, encoding)| ExpectedResponse { id, encoding }).collect())
    }

    /// The reply to a message that is not a call.
    pub(super) fn to_invalid(id: Option<Id>, encoding: Option<Encoding>) -> Self {
        Self::Call(ExpectedResponse { id: id.unwrap_or(Id::NULL), encoding })
    }

    /// The ids; for a batch, only those that are not null.
    pub(super) fn ids(&self) -> impl Iterator<Item = &Id> {
        let (call, batch) = match self {
            Self::Nothing => (None, [].as_slice()),
            Self::Call(response) => (Some(response), [].as_slice()),
            Self::Batch(responses) => (None, responses.as_slice()),
        };
        let with_id = batch.iter().filter(|response| response.id != Id::NULL);
        call.into_iter().chain(with_id).map(|response| &response.id)
    }

    /// A reply with the same error in all responses.
    pub(super) fn error(&self, error: &ErrorObject) -> Reply {
        match self {
            Self::Nothing => Reply::none(),
            Self::Call(response) => response.error(error),
            Self::Batch(responses) => {
                Reply::array(responses.iter().map(|response| response.error(error)))
            }
        }
    }
}

impl ExpectedResponse {
    fn error(&self, error: &ErrorObject) -> Reply {
        let outcome = Outcome::error(error.clone());
        Reply::encoded(outcome, self.id.as_raw().as_bytes(), self.encoding.as_ref())
    }
}

/// The queue of replies to be written.
#[derive(Clone)]
pub(super) struct Replies {
    out: mpsc::Sender<Message>,
    memory: MemoryBudget,
    /// The default format of the stream.
    format: Format,
}

/// The maximum number of queued replies. When the queue is full, calls wait to queue their replies.
const MAX_QUEUED: usize = 16;

impl Replies {
    /// The queue and the stream of its replies.
    pub(super) fn new(
        memory: MemoryBudget,
        format: Format,
    ) -> (Self, impl Stream<Item = Vec<Message>>) {
        let (out, mut queue) = mpsc::channel(MAX_QUEUED);
        let replies = poll_fn(move |context| {
            let mut messages = Vec::new();
            let received = queue.poll_recv_many(context, &mut messages, MAX_QUEUED);
            received.map(|count| (count > 0).then_some(messages))
        });
        (Self { out, memory, format }, replies)
    }

    /// Queues a reply. Waits while the queue is full. `memory` is the memory already reserved for it.
    pub(super) async fn send(
        &self,
        mut reply: Reply,
        memory: Option<Reservation>,
        mut request: Request,
    ) {
        let memory = match memory {
            Some(mut memory) => memory.resize(reply.text_len()).map(|()| memory),
            None => self.memory.reserve(reply.text_len()),
        };
        let memory = match memory {
            Ok(memory) => Some(memory),
            // The error for a request that was not run is small enough to send without a reservation.
            Err(_) if request.running.is_none() => None,
            Err(error) => {
                let dropped = request.expected.error(&error.reply_dropped());
                reply = dropped.into_format(reply.format());
                None
            }
        };
        if let Some(observation) = request.observation.take() {
            observation.end_with_response(reply.json(), reply.code());
        }
        let is_json = (reply.format(), self.format) == (Format::Json, Format::Json);
        let format = (!is_json).then_some(reply.format());
        let Some(text) = reply.into_text() else { return request.finish() };
        // Fails if the client has disconnected.
        drop(
            self.out.send(Message { text, format, _memory: memory, request: Some(request) }).await,
        );
    }
}
