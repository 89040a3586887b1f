use std::fmt;
use std::sync::{Arc, OnceLock};

use super::History;
use super::draft::Draft;
use super::entry::{Entry, Status, short, short_id};
use super::redaction::Passage;
use crate::call::Call;
use crate::id::Id;
use crate::outcome::Outcome;
use crate::router::{CallFuture, Registered};
use crate::trace_context::TraceContext;

/// The entry of a call that has not ended. Dropped before, it tells of a call that was cancelled.
///
/// For doors that answer what they [read](crate::Rpc::read) in their own way: they
/// [take](Call::take_recording) it from the call and say what they answer. All others need not know
/// of it.
#[must_use = "a recording that is dropped tells of a call that was cancelled"]
pub struct Recording(Option<Box<Begun>>);

struct Begun {
    draft: Draft,
    id: Option<Id>,
    notes: Arc<Notes>,
    reply_bytes: usize,
}

/// What the layers learn of a call while it runs.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    trace: OnceLock<TraceContext>,
    operation: OnceLock<Arc<Registered>>,
    failure: OnceLock<i64>,
}

/// How a message came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival<'a> {
    /// All of its text.
    pub(crate) text: &'a [u8],
    /// Its place, if it is a member of a batch.
    pub(crate) batch_index: Option<usize>,
    /// Over so many bytes, a reply is -32006 instead.
    pub(crate) reply_bytes: usize,
}

impl Recording {
    pub(crate) fn begin(history: &History, call: &Call, arrival: Arrival<'_>) -> Self {
        let id = call.id();
        let mut draft = Draft::new(history, call.extensions());
        draft.entry.method = Some(short(&call.method()));
        draft.entry.id = id.as_ref().map(short_id);
        draft.entry.notification = id.is_none();
        draft.entry.batch_index = arrival.batch_index;
        let params = call.operation().map(|operation| &*operation.description().params);
        draft.request(arrival.text, params);
        let (notes, reply_bytes) = (Arc::default(), arrival.reply_bytes);
        Self(Some(Box::new(Begun { draft, id, notes, reply_bytes })))
    }

    pub(crate) fn notes(&self) -> Option<Arc<Notes>> {
        self.0.as_ref().map(|begun| Arc::clone(&begun.notes))
    }

    /// Ends the entry with what the call is answered.
    pub fn end(mut self, outcome: &Outcome) {
        let Some(begun) = self.0.take() else {
            return;
        };
        let Begun { mut draft, id, notes, reply_bytes } = *begun;
        notes.write_to(&mut draft.entry);
        draft.end(outcome, id.as_ref(), reply_bytes);
    }

    /// Ends the entry with a response as it is sent, or with none to a notification.
    pub(crate) fn end_as(mut self, response: Option<&[u8]>, code: Option<i64>) {
        if let Some(begun) = self.0.take() {
            let Begun { mut draft, notes, .. } = *begun;
            notes.write_to(&mut draft.entry);
            draft.end_as(response.map(Passage::whole), code);
        }
    }

    /// Ends the entry with the outcome of `future`, or as cancelled if that is dropped.
    pub fn follow(self, future: CallFuture) -> CallFuture {
        if let Some(outcome) = future.outcome() {
            self.end(outcome);
            return future;
        }
        CallFuture::later(async move {
            let Ok(outcome) = future.await;
            self.end(&outcome);
            outcome
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(begun) = self.0.take() {
            let Begun { mut draft, notes, .. } = *begun;
            notes.write_to(&mut draft.entry);
            draft.entry.status = Status::Cancelled;
            draft.add();
        }
    }
}

impl Notes {
    /// Notes which operation a call has come to, and in which trace.
    pub(crate) fn call(&self, call: &Call) {
        if let Some(trace) = TraceContext::of(call.extensions()) {
            self.trace.get_or_init(|| trace);
        }
        if let Some(operation) = call.operation() {
            self.operation.get_or_init(|| Arc::clone(operation));
        }
    }

    /// Notes that the operation has failed, whatever its client is told.
    pub(crate) fn failure(&self, code: i64) {
        self.failure.get_or_init(|| code);
    }

    fn write_to(&self, entry: &mut Entry) {
        if let Some(trace) = self.trace.get() {
            entry.trace_id = Some(trace.trace_id().into());
        }
        let operation = self.operation.get().map(|operation| operation.name());
        entry.operation = operation.filter(|name| entry.method.as_deref() != Some(name)).map(short);
        if let Some(code) = self.failure.get() {
            (entry.status, entry.code) = (Status::Error, Some(*code));
        }
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recording")
    }
}
