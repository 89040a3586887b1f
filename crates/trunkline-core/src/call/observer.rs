//! Observers of calls.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::Call;
use super::future::CallFuture;
use super::registered::RegisteredOperation;
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::id::Id;
use crate::outcome::Outcome;
use crate::trace_context::TraceContext;

/// An observer of the calls of a service. It cannot change or reject calls; layers can.
pub trait Observer: Any + fmt::Debug + Send + Sync {
    /// A call was parsed and will be run.
    fn begin(&self, call: &Call, message: MessageInfo<'_>, notes: &Arc<Notes>) -> Recording;

    /// A message was rejected before it became a call.
    fn refuse(
        &self,
        extensions: &Extensions,
        message: MessageInfo<'_>,
        error: &ErrorObject,
        id: Option<&Id>,
    );
}

/// An observer of one call. If it is dropped before the call ends, the call was cancelled.
pub trait Observation: Send + Sync {
    /// The call ended with this outcome.
    fn end(self: Box<Self>, outcome: &Outcome);

    /// The call ended with this response, or with none for a notification.
    fn end_with_response(self: Box<Self>, response: Option<&[u8]>, code: Option<i64>);
}

/// A received message.
#[derive(Debug, Clone, Copy)]
pub struct MessageInfo<'a> {
    /// The text of the message. Params that were [converted](crate::operation::Operation::strict_params) are so here, too.
    pub text: &'a [u8],
    /// The index in its batch, if any.
    pub batch_index: Option<usize>,
    /// The maximum size of the reply in bytes. A larger one is replaced by -32006.
    pub reply_bytes: usize,
}

/// Notes of layers about a running call, for observers. The first note of each kind is kept, and the last message.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Facts>);

#[derive(Debug, Default)]
struct Facts {
    trace: Option<TraceContext>,
    operation: Option<Arc<RegisteredOperation>>,
    failure: Option<i64>,
    message: Option<Bytes>,
}

impl Notes {
    /// Sets the operation and the trace of a call.
    pub fn call(&self, call: &Call) {
        let mut facts = self.facts();
        facts.trace = facts.trace.or_else(|| TraceContext::of(call.extensions()));
        if facts.operation.is_none() {
            facts.operation = call.operation().cloned();
        }
    }

    /// Records that the operation has failed, even if the client gets a result.
    pub(crate) fn failed(&self, code: i64) {
        self.facts().failure.get_or_insert(code);
    }

    /// Sets the message with converted params, which replaces the one that the observer has seen.
    pub(crate) fn message(&self, message: Bytes) {
        self.facts().message = Some(message);
    }

    /// The message with converted params, if they were converted after the observer has seen the message.
    pub fn converted_message(&self) -> Option<Bytes> {
        self.facts().message.clone()
    }

    /// The trace of the call.
    pub fn trace(&self) -> Option<TraceContext> {
        self.facts().trace
    }

    /// The operation of the call.
    pub fn operation(&self) -> Option<Arc<RegisteredOperation>> {
        self.facts().operation.clone()
    }

    /// The error code of the operation.
    pub fn failure(&self) -> Option<i64> {
        self.facts().failure
    }

    /// Ignores poisoning, since no code panics while it holds the lock.
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The recording of a running call. If it is dropped before the call ends, the call is recorded as cancelled.
///
/// Protocols that write their own responses [take](Call::take_recording) it from the call, and end it with their
/// response.
#[must_use = "a recording that is dropped records a cancelled call"]
pub struct Recording(Box<dyn Observation>);

impl Recording {
    /// A recording with this observation.
    pub fn new(observation: impl Observation + 'static) -> Self {
        Self(Box::new(observation))
    }

    /// Ends the recording with the outcome of the call.
    pub fn end(self, outcome: &Outcome) {
        self.0.end(outcome);
    }

    /// Ends the recording with the response that is sent, or with none for a notification.
    pub fn end_with_response(self, response: Option<&[u8]>, code: Option<i64>) {
        self.0.end_with_response(response, code);
    }

    /// Ends the recording with the outcome of `future`, or as cancelled if the future is dropped.
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
