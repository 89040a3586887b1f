//! The recording of calls in progress.

use std::any::Any;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use trunkline_core::call::{Call, MessageInfo, Observation, Observer};
use trunkline_core::dispatch::Dispatcher;
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::Extensions;
use trunkline_core::id::Id;
use trunkline_core::outcome::Outcome;
use trunkline_core::trace_context::TraceContext;

use super::draft::Draft;
use super::entry::{Status, short, short_id};
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
    fn begin(&self, call: &Call, message: MessageInfo<'_>) -> Arc<dyn Observation> {
        let id = call.id();
        let mut draft = Draft::new(self, call.extensions());
        let entry = draft.entry();
        entry.method = Some(short(&call.method()));
        entry.id = id.as_ref().map(short_id);
        entry.notification = id.is_none();
        entry.batch_index = message.batch_index;
        draft.request(message.text, call.operation().cloned());
        let state = State { draft: Some(draft), is_run: false, failure: None };
        Arc::new(Running { state: Mutex::new(state), id, reply_bytes: message.reply_bytes })
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
    state: Mutex<State>,
    id: Option<Id>,
    reply_bytes: usize,
}

struct State {
    /// `None` once the call has ended.
    draft: Option<Draft>,
    /// Whether operation and trace are set.
    is_run: bool,
    /// The error code of the operation.
    failure: Option<i64>,
}

impl Running {
    /// Ignores poisoning, since the state is consistent after each statement.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the draft, to end it.
    fn take(&self) -> Option<Draft> {
        let mut state = self.state();
        let mut draft = state.draft.take()?;
        if let Some(code) = state.failure {
            let entry = draft.entry();
            (entry.status, entry.code) = (Status::Error, Some(code));
        }
        Some(draft)
    }
}

impl Observation for Running {
    fn run(&self, call: &Call) {
        let mut state = self.state();
        let is_first = !mem::replace(&mut state.is_run, true);
        if let Some(draft) = state.draft.as_mut().filter(|_| is_first) {
            let entry = draft.entry();
            entry.trace_id = TraceContext::of(call.extensions()).map(TraceContext::trace_id);
            let name = call.operation().map(|operation| operation.name());
            entry.operation = name.filter(|name| entry.method.as_deref() != Some(name)).map(short);
        }
    }

    fn convert(&self, message: &Bytes) {
        if let Some(draft) = &mut self.state().draft {
            draft.request(message, None);
        }
    }

    fn fail(&self, code: i64) {
        self.state().failure.get_or_insert(code);
    }

    fn end(&self, outcome: &Outcome) {
        if let Some(draft) = self.take() {
            draft.end(outcome, self.id.as_ref(), self.reply_bytes);
        }
    }

    fn end_with_response(&self, response: Option<&[u8]>, code: Option<i64>) {
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
