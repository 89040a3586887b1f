//! Execution of message bodies: parsing, calls, replies.

mod incoming;
mod observed;
mod protocol_methods;
mod reading;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tower_service::Service;

use crate::batch::{self, BatchScheduler};
use crate::call::{Call, CallFuture, MaybeReady, Observer, RegisteredOperation};
use crate::extensions::Extensions;
use crate::format::{Encoding, Format, Formats, encoding_of};
use crate::id::Id;
use crate::limits::calls::Limits;
use crate::limits::{OutOfMemory, Reservation};
use crate::operation::Registry;
use crate::outcome::Outcome;
use crate::reply::Reply;

pub use incoming::{Batch, Incoming};
pub use protocol_methods::ProtocolMethods;

/// A service for calls and message bodies: it parses a body, runs its calls through the layers, and writes the
/// reply. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Dispatcher {
    registry: Arc<Registry>,
    limits: Arc<Limits>,
    protocol_methods: Option<Arc<dyn ProtocolMethods>>,
    observer: Option<Arc<dyn Observer>>,
    scheduler: Arc<dyn BatchScheduler>,
    formats: &'static [Format],
}

impl Dispatcher {
    /// A dispatcher for the operations in `registry`.
    pub fn new(
        registry: Arc<Registry>,
        limits: Limits,
        scheduler: Arc<dyn BatchScheduler>,
    ) -> Self {
        let limits = Arc::new(limits);
        let formats = &[Format::Json];
        Self { registry, limits, protocol_methods: None, observer: None, scheduler, formats }
    }

    /// Sets the formats that transports accept, besides JSON those of codecs. Default: JSON.
    #[must_use]
    pub fn with_formats(self, formats: &'static [Format]) -> Self {
        Self { formats, ..self }
    }

    /// The formats that transports accept.
    #[must_use]
    pub fn formats(&self) -> &'static [Format] {
        self.formats
    }

    /// Adds the methods of another protocol, which make calls of the same operations. They are available to message
    /// bodies ([`handle`](Self::handle), [`answer`](Self::answer)), not to [`Service::call`]. Replaces earlier ones.
    #[must_use]
    pub fn with_protocol_methods(mut self, protocol_methods: Arc<dyn ProtocolMethods>) -> Self {
        self.protocol_methods = Some(protocol_methods);
        self
    }

    /// Removes the methods of another protocol.
    #[must_use]
    pub fn without_protocol_methods(mut self) -> Self {
        self.protocol_methods = None;
        self
    }

    /// Processes one body: a request, a notification or a batch.
    ///
    /// `extensions` contains data of the transport. All calls of the body share it.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls that have not ended.
    pub async fn handle(&self, body: Bytes, extensions: Extensions) -> Reply {
        self.handle_in(Formats::default(), body, extensions).await
    }

    /// Processes one body in these formats.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls that have not ended.
    pub async fn handle_in(&self, formats: Formats, body: Bytes, extensions: Extensions) -> Reply {
        match self.handle_reserved(formats, body, extensions).await {
            Ok((reply, _)) => reply,
            Err(error) => Reply::error(error.into(), Some(&Id::NULL)).into_format(formats.reply),
        }
    }

    /// Processes one body, and returns the memory reserved for the reply.
    ///
    /// # Errors
    /// When the memory budget is exhausted. Nothing was run.
    pub async fn handle_reserved(
        &self,
        formats: Formats,
        body: Bytes,
        extensions: Extensions,
    ) -> Result<(Reply, Option<Reservation>), OutOfMemory> {
        let (incoming, encoding) = self.read_with_encoding(formats, body, extensions);
        self.answer_incoming(incoming, encoding).await
    }

    /// Processes a body that was [parsed](Self::read_with_encoding), and returns the memory reserved for the reply.
    ///
    /// # Errors
    /// When the memory budget is exhausted. Nothing was run.
    pub async fn answer_incoming(
        &self,
        incoming: Incoming,
        encoding: Option<Encoding>,
    ) -> Result<(Reply, Option<Reservation>), OutOfMemory> {
        let reply = match incoming {
            Incoming::Call(call) => self.answer(call).await,
            Incoming::Batch(batch) => {
                // Boxed, so that the future of a single call does not have the size of a batch.
                let (reply, memory) = Box::pin(self.answer_batch_reserved(batch)).await?;
                return Ok((reply, Some(memory)));
            }
            Incoming::Response { error, id, .. } | Incoming::Refused { error, id, .. } => {
                let (outcome, id) = (Outcome::error(error), id.unwrap_or(Id::NULL));
                Reply::encoded(outcome, id.as_raw().as_bytes(), encoding.as_ref())
            }
        };
        Ok((reply, None))
    }

    /// Processes a call that was [parsed](Self::read).
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub fn answer(&self, mut call: Call) -> MaybeReady<Reply> {
        let (id, encoding) = (call.id(), call.encoding().cloned());
        // Ended with the reply, so that the observer does not serialise it again.
        let observation = call.take_observation();
        let limits = Arc::clone(&self.limits);
        self.run_message(call).then(move |Ok(outcome)| {
            let reply = reply(outcome, id.as_ref(), encoding.as_ref(), limits.reply_bytes);
            if let Some(observation) = observation {
                observation.end_with_response(reply.json(), reply.code());
            }
            reply
        })
    }

    /// Runs a call that was [parsed](Self::read) or [redirected](Call::redirect_to) through all layers, for protocols
    /// that write their own responses. A call without an operation fails with -32601.
    pub fn run(&self, call: Call) -> CallFuture {
        observed(call, |call| self.registry.run(call))
    }

    /// Runs a call of an operation or of a protocol method.
    #[inline]
    fn run_message(&self, call: Call) -> CallFuture {
        let is_unresolved = call.operation().is_none() && !call.is_refused();
        let protocol_methods = self.protocol_methods.as_ref().filter(|_| is_unresolved);
        match protocol_methods.filter(|protocol_methods| protocol_methods.has(&call.method())) {
            Some(protocol_methods) => observed(call, |call| protocol_methods.call(call)),
            None => self.run(call),
        }
    }

    /// Processes a batch that was [parsed](Self::read).
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls that have not ended.
    pub async fn answer_batch(&self, batch: Batch) -> Reply {
        match self.answer_batch_reserved(batch).await {
            Ok((reply, _)) => reply,
            Err(error) => Reply::error(error.into(), Some(&Id::NULL)),
        }
    }

    /// Processes a batch that was [parsed](Self::read), and returns the memory reserved for the reply.
    ///
    /// # Errors
    /// When the batch exceeds the memory budget. Nothing was run.
    pub async fn answer_batch_reserved(
        &self,
        batch: Batch,
    ) -> Result<(Reply, Reservation), OutOfMemory> {
        let memory = match batch::reserve(&self.limits, batch.entries.len()) {
            Ok(memory) => memory,
            Err(error) => {
                batch.refuse(&error.into());
                return Err(error);
            }
        };
        let members = self.members(&batch);
        let Batch { body, entries, extensions, encodings, .. } = &batch;
        let call = |index, request| {
            let call = self.call_of(body.clone(), request, extensions.clone());
            let mut call = call.with_encoding(encoding_of(encodings, index).cloned());
            if let Some(members) = &members {
                members.observe(index, &mut call);
            }
            call
        };
        let request = batch::BatchRequest { body, entries, encodings };
        let resources =
            batch::Resources { limits: &self.limits, scheduler: &*self.scheduler, memory };
        let run = |call| self.run_message(call);
        Ok(batch::run(request, resources, call, run).await)
    }

    /// The reply to the call with this id, or an error if it exceeds the size limit. Nothing for a notification.
    #[must_use]
    pub fn reply(&self, outcome: Outcome, id: Option<&Id>) -> Reply {
        reply(outcome, id, None, self.limits.reply_bytes)
    }

    /// The current operations, in the order of registration.
    #[must_use]
    pub fn operations(&self) -> Arc<[Arc<RegisteredOperation>]> {
        self.registry.operations()
    }

    /// Whether the service has dynamic operations.
    #[must_use]
    pub fn has_dynamic_operations(&self) -> bool {
        self.registry.has_dynamic_operations()
    }

    /// Calls `listener` after each change of the operations, on the thread that makes the change. The listener is
    /// kept as long as the service. To avoid a reference cycle, it should hold the service through a
    /// [`Weak`](std::sync::Weak).
    ///
    /// Concurrent changes call it concurrently and in any order; [`operations`](Self::operations) returns the
    /// current state.
    pub fn on_change(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.registry.on_change(listener);
    }

    /// The limits of calls.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

impl Service<Call> for Dispatcher {
    type Response = Outcome;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut call: Call) -> CallFuture {
        if call.operation().is_none() {
            let operation = self.registry.find(call.method().as_bytes());
            call.resolve(operation);
        }
        // A parsed call is being observed already.
        if call.observation().is_none() {
            self.observe_own(&mut call);
        }
        self.run(call)
    }
}

/// The reply to the call with this id, or an error if it exceeds the size limit. Nothing for a notification.
fn reply(outcome: Outcome, id: Option<&Id>, encoding: Option<&Encoding>, limit: usize) -> Reply {
    let Some(id) = id.map(|id| id.as_raw().as_bytes()) else {
        return Reply::none();
    };
    let written = |outcome| Reply::encoded(outcome, id, encoding);
    let too_large = || written(Outcome::reply_too_large(limit));
    // A result that is too large in JSON is not converted to another format.
    if outcome.len() > limit {
        return too_large();
    }
    let reply = written(outcome);
    if reply.text_len() > limit { too_large() } else { reply }
}

/// Runs a call. Its observation ends with the outcome, unless the code that replies to the call ends it.
#[inline]
fn observed(mut call: Call, run: impl FnOnce(Call) -> CallFuture) -> CallFuture {
    let Some(observation) = call.observation().cloned() else {
        return run(call);
    };
    let ends = call.take_observation().is_some();
    run(call).map(move |outcome| {
        match outcome.code() {
            _ if ends => observation.end(&outcome),
            Some(code) => observation.fail(code),
            None => {}
        }
        outcome
    })
}
