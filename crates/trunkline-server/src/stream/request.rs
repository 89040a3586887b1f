//! A request of JSON-RPC, from its arrival to its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::Stream;
use futures_util::stream::poll_fn;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use trunkline_core::call::{Call, Recording};
use trunkline_core::dispatch::Batch;
use trunkline_core::error::ErrorObject;
use trunkline_core::format::{Encoding, Format};
use trunkline_core::id::Id;
use trunkline_core::limits::{MemoryBudget, Reservation};
use trunkline_core::outcome::Outcome;
use trunkline_core::reply::{ResponseArray, Reply, Response};

use crate::status::Counts;

/// A request, until its answer is written.
pub(super) struct Request {
    pub(super) asked: Asked,
    /// The record of a call. Those of a batch keep theirs.
    recording: Option<Recording>,
    begun: Option<Begun>,
    unanswered: Unanswered,
}

/// A message to a client. Its memory is reserved until it is written.
pub struct Message {
    pub(super) text: Vec<u8>,
    /// The format, if the head of the message names it.
    pub(super) format: Option<Format>,
    pub(super) _memory: Option<Reservation>,
    pub(super) request: Option<Request>,
}

impl Message {
    /// A message in JSON, with the reservation of its memory if there is one.
    #[must_use]
    pub fn json(text: Vec<u8>, memory: Option<Reservation>) -> Self {
        Self { text, format: None, _memory: memory, request: None }
    }
}

/// The expected answer of a message.
#[derive(Debug)]
pub(super) enum Asked {
    /// Nothing: it is a notification.
    Nothing,
    /// A response.
    Call(Due),
    /// An array of responses.
    Batch(Vec<Due>),
}

/// A response with this id, in the format of its request.
#[derive(Debug)]
pub(super) struct Due {
    id: Id,
    encoding: Option<Encoding>,
}

/// The number of requests of a connection that have not been answered. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unanswered(Arc<AtomicUsize>);

/// A request that has a place among those that run, and is counted with them.
struct Begun {
    counts: Arc<Counts>,
    _place: OwnedSemaphorePermit,
}

impl Request {
    pub(super) fn new(asked: Asked, recording: Option<Recording>, unanswered: &Unanswered) -> Self {
        unanswered.0.fetch_add(1, Ordering::Relaxed);
        Self { asked, recording, begun: None, unanswered: unanswered.clone() }
    }

    /// It runs from now on.
    pub(super) fn begin(&mut self, counts: &Arc<Counts>, place: OwnedSemaphorePermit) {
        counts.request_begun();
        self.begun = Some(Begun { counts: Arc::clone(counts), _place: place });
    }

    /// Its answer is written, or it expects none. One that is dropped otherwise stays unanswered.
    pub(super) fn finish(self) {
        self.unanswered.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Unanswered {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.counts.request_ended();
    }
}

impl Asked {
    pub(super) fn by_call(call: &Call) -> Self {
        let due = |id| Due { id, encoding: call.encoding().cloned() };
        call.id().map_or(Self::Nothing, |id| Self::Call(due(id)))
    }

    pub(super) fn by_batch(batch: &Batch) -> Self {
        Self::Batch(batch.expected_replies().map(|(id, encoding)| Due { id, encoding }).collect())
    }

    /// By a message that is not a call.
    pub(super) fn by_unread(id: Option<Id>, encoding: Option<Encoding>) -> Self {
        Self::Call(Due { id: id.unwrap_or(Id::NULL), encoding })
    }

    /// The ids; of a batch, those that are not null.
    pub(super) fn ids(&self) -> impl Iterator<Item = &Id> {
        let (call, batch) = match self {
            Self::Nothing => (None, [].as_slice()),
            Self::Call(due) => (Some(due), [].as_slice()),
            Self::Batch(dues) => (None, dues.as_slice()),
        };
        let named = batch.iter().filter(|due| due.id != Id::NULL);
        call.into_iter().chain(named).map(|due| &due.id)
    }

    /// The same error in answer to all that was asked.
    pub(super) fn refused(&self, error: &ErrorObject) -> Reply {
        match self {
            Self::Nothing => Reply::None,
            Self::Call(due) => due.refused(error).into_reply(),
            Self::Batch(dues) => {
                let mut joined = ResponseArray::of(dues.len());
                dues.iter().for_each(|due| joined.push(&due.refused(error)));
                joined.end()
            }
        }
    }
}

impl Due {
    fn refused(&self, error: &ErrorObject) -> Response {
        let outcome = Outcome::error(error.clone());
        Response::of(outcome, self.id.as_raw().as_bytes(), self.encoding.as_ref())
    }
}

/// The queue of replies that are to be written.
#[derive(Clone)]
pub(super) struct Replies {
    out: mpsc::Sender<Message>,
    memory: MemoryBudget,
    /// The format of replies whose head does not name it.
    format: Format,
}

/// Replies that may wait to be written. Calls whose replies find no room wait, too.
const WAITING: usize = 16;

impl Replies {
    /// The queue, and the replies in it.
    pub(super) fn new(
        memory: MemoryBudget,
        format: Format,
    ) -> (Self, impl Stream<Item = Vec<Message>>) {
        let (out, mut waiting) = mpsc::channel(WAITING);
        let replies = poll_fn(move |context| {
            let mut together = Vec::new();
            let received = waiting.poll_recv_many(context, &mut together, WAITING);
            received.map(|count| (count > 0).then_some(together))
        });
        (Self { out, memory, format }, replies)
    }

    /// Queues a reply for writing. Waits while the queue is full. For a batch, memory is reserved already.
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
            // What was not run is refused with the few bytes of an error.
            Err(_) if request.begun.is_none() => None,
            Err(error) => {
                let dropped = request.asked.refused(&error.reply_dropped());
                reply = dropped.into_format(reply.format());
                None
            }
        };
        if let Some(recording) = request.recording.take() {
            recording.end_with_response(reply.json(), reply.code());
        }
        let is_json = (reply.format(), self.format) == (Format::Json, Format::Json);
        let format = (!is_json).then_some(reply.format());
        let Some(text) = reply.into_text() else { return request.finish() };
        // A client that is gone reads no replies.
        drop(
            self.out.send(Message { text, format, _memory: memory, request: Some(request) }).await,
        );
    }
}
