//! The recording of calls in progress.

use std::any::Any;
use std::sync::Arc;

use trunkline_core::call::{
    Call, MessageInfo, Notes, Observation, Observer, Recording, RegisteredOperation,
};
use trunkline_core::dispatch::Dispatcher;
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::Extensions;
use trunkline_core::id::Id;
use trunkline_core::outcome::Outcome;

use super::draft::Draft;
use super::entry::{Entry, Status, short, short_id};
use super::redaction::Passage;
use crate::history::History;

impl History {
    /// The history of a service, if it has one.
    #[must_use]
    pub fn of(dispatcher: &Dispatcher) -> Option<&Self> {
        let observer: &dyn Any = dispatcher.observer()?;
        observer.downcast_ref()
    }

    /// Records a request that an endpoint refused before parsing it as a message, with the error sent to the
    /// client. Parsed messages, and requests refused by the HTTP service, are recorded automatically.
    pub fn record_refusal(&self, extensions: &Extensions, error: &ErrorObject) {
        let draft = Draft::new(self, extensions);
        draft.end(&Outcome::error(error.clone()), Some(&Id::NULL), usize::MAX);
    }
}

impl Observer for History {
    fn begin(&self, call: &Call, message: MessageInfo<'_>, notes: &Arc<Notes>) -> Recording {
        let id = call.id();
        let mut draft = Draft::new(self, call.extensions());
        let entry = draft.entry();
        entry.method = Some(short(&call.method()));
        entry.id = id.as_ref().map(short_id);
        entry.notification = id.is_none();
        entry.batch_index = message.batch_index;
        draft.request(message.text, call.operation().cloned());
        let (notes, reply_bytes) = (Arc::clone(notes), message.reply_bytes);
        Recording::new(Running { draft: Some(draft), id, notes, reply_bytes })
    }

    fn refuse(
        &self,
        extensions: &Extensions,
        message: MessageInfo<'_>,
        error: &ErrorObject,
        id: Option<&Id>,
    ) {
        let mut draft = Draft::new(self, extensions);
        let entry = draft.entry();
        (entry.id, entry.batch_index) = (id.map(short_id), message.batch_index);
        draft.request(message.text, None);
        let id = id.cloned().unwrap_or(Id::NULL);
        draft.end(&Outcome::error(error.clone()), Some(&id), usize::MAX);
    }
}

/// A running call.
struct Running {
    /// `None` once the call has ended.
    draft: Option<Draft>,
    id: Option<Id>,
    notes: Arc<Notes>,
    reply_bytes: usize,
}

impl Running {
    fn take(&mut self) -> Option<Draft> {
        let mut draft = self.draft.take()?;
        if let Some(message) = self.notes.converted_message() {
            draft.request(&message, None);
        }
        add_notes(draft.entry(), &self.notes);
        Some(draft)
    }
}

impl Observation for Running {
    fn end(mut self: Box<Self>, outcome: &Outcome) {
        if let Some(draft) = self.take() {
            draft.end(outcome, self.id.as_ref(), self.reply_bytes);
        }
    }

    fn end_with_response(mut self: Box<Self>, response: Option<&[u8]>, code: Option<i64>) {
        if let Some(draft) = self.take() {
            draft.end_as(response.map(Passage::whole), code);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut draft) = self.take() {
            draft.entry().status = Status::Cancelled;
            draft.add();
        }
    }
}

fn add_notes(entry: &mut Entry, notes: &Notes) {
    if let Some(trace) = notes.trace() {
        entry.trace_id = Some(trace.trace_id());
    }
    let operation = notes.operation();
    let name = operation.as_deref().map(RegisteredOperation::name);
    entry.operation = name.filter(|name| entry.method.as_deref() != Some(name)).map(short);
    if let Some(code) = notes.failure() {
        (entry.status, entry.code) = (Status::Error, Some(code));
    }
}
