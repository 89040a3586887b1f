//! Observers: they watch calls, and cannot change them.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Call;
use super::future::CallFuture;
use super::registered::RegisteredOperation;
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::id::Id;
use crate::outcome::Outcome;
use crate::trace_context::TraceContext;

/// Watches the calls of a service. What can change or refuse a call is a layer.
pub trait Observer: Any + fmt::Debug + Send + Sync {
    /// A call was read, and will be run.
    fn begin(&self, call: &Call, message: MessageInfo<'_>, notes: &Arc<Notes>) -> Recording;

    /// A message was refused before it became a call.
    fn refuse(
        &self,
        extensions: &Extensions,
        message: MessageInfo<'_>,
        error: &ErrorObject,
        id: Option<&Id>,
    );
}

/// Watches one call. Dropped before the end, it was cancelled.
pub trait Observation: Send + Sync {
    /// The call ended with this outcome.
    fn end(self: Box<Self>, outcome: &Outcome);

    /// The call was answered with this response, or with none if it is a notification.
    fn end_with_response(self: Box<Self>, response: Option<&[u8]>, code: Option<i64>);
}

/// How a message came.
#[derive(Debug, Clone, Copy)]
pub struct MessageInfo<'a> {
    /// All of its text.
    pub text: &'a [u8],
    /// Its place, if it is a member of a batch.
    pub batch_index: Option<usize>,
    /// The limit of the reply in bytes: a longer one is -32006 instead.
    pub reply_bytes: usize,
}

/// Facts about a running call that layers pass on to observers. The first of each kind is kept.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Facts>);

#[derive(Debug, Default)]
struct Facts {
    trace: Option<TraceContext>,
    operation: Option<Arc<RegisteredOperation>>,
    failure: Option<i64>,
}

impl Notes {
    /// Notes which operation a call has come to, and in which trace.
    pub fn call(&self, call: &Call) {
        let mut facts = self.facts();
        facts.trace = facts.trace.or_else(|| TraceContext::of(call.extensions()));
        if facts.operation.is_none() {
            facts.operation = call.operation().cloned();
        }
    }

    /// Notes that the operation has failed, also if its client gets a result.
    pub(crate) fn failed(&self, code: i64) {
        self.facts().failure.get_or_insert(code);
    }

    /// The trace of the call.
    pub fn trace(&self) -> Option<TraceContext> {
        self.facts().trace
    }

    /// The operation that the call has come to.
    pub fn operation(&self) -> Option<Arc<RegisteredOperation>> {
        self.facts().operation.clone()
    }

    /// The code that the operation has failed with.
    pub fn failure(&self) -> Option<i64> {
        self.facts().failure
    }

    /// No code under the lock panics.
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The record of a call that has not ended. Dropped before its end, it records a cancelled call.
///
/// Protocols that answer what they read in their own way
/// [take](Call::take_recording) it from the call, and end it with their response.
#[must_use = "a recording that is dropped records a cancelled call"]
pub struct Recording(Box<dyn Observation>);

impl Recording {
    /// A recording that this observation keeps.
    pub fn new(observation: impl Observation + 'static) -> Self {
        Self(Box::new(observation))
    }

    /// Ends the record with the outcome of the call.
    pub fn end(self, outcome: &Outcome) {
        self.0.end(outcome);
    }

    /// Ends the record with the response that is sent, or with none for a notification.
    pub fn end_with_response(self, response: Option<&[u8]>, code: Option<i64>) {
        self.0.end_with_response(response, code);
    }

    /// Ends the record with the outcome of `future`, or as cancelled if that is dropped.
    pub fn follow(self, future: CallFuture) -> CallFuture {
        if let Some(outcome) = future.outcome() {
            self.end(outcome);
            return future;
        }
        CallFuture::from_future(async move {
            let Ok(outcome) = future.await;
            self.end(&outcome);
            outcome
        })
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recording")
    }
}
