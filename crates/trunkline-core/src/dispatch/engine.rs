//! Execution of calls through the layers of the service.

use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tower_service::Service;

use super::protocol_methods::ProtocolMethods;
use crate::call::{Call, CallFuture, Notes, Recording};
use crate::outcome::Outcome;

/// The layers of a service, and its operations.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Runs a resolved call. A call without an operation fails with -32601.
    fn call(&self, call: Call) -> CallFuture;
}

/// Runs resolved calls. Cloning is cheap.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    engine: Arc<dyn Engine>,
    protocol_methods: Option<Arc<dyn ProtocolMethods>>,
}

/// The future of a call through all layers.
#[derive(Debug)]
pub struct RpcFuture {
    inner: CallFuture,
    recorder: OutcomeRecorder,
}

/// The receiver of the outcome.
#[derive(Debug)]
enum OutcomeRecorder {
    None,
    Recording(Recording),
    /// The recording belongs to the message for which the call was made.
    Notes(Arc<Notes>),
}

impl Runner {
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, protocol_methods: None }
    }

    pub(super) fn set_protocol_methods(&mut self, protocol_methods: Arc<dyn ProtocolMethods>) {
        self.protocol_methods = Some(protocol_methods);
    }

    pub(super) fn remove_protocol_methods(&mut self) {
        self.protocol_methods = None;
    }

    /// Runs a call of an operation or of a protocol method.
    pub(super) fn run(&self, mut call: Call) -> RpcFuture {
        let is_unresolved = call.operation().is_none()
            && call.encoding().is_none_or(|encoding| encoding.refusal().is_none());
        let protocol_methods = self.protocol_methods.as_ref().filter(|_| is_unresolved);
        match protocol_methods.filter(|protocol_methods| protocol_methods.has(&call.method())) {
            Some(protocol_methods) => {
                let recorder = OutcomeRecorder::of(&mut call);
                RpcFuture { inner: protocol_methods.call(call), recorder }
            }
            None => self.call_operation(call),
        }
    }

    /// Runs a call through the layers. A call without an operation fails with -32601.
    pub(super) fn call_operation(&self, mut call: Call) -> RpcFuture {
        let recorder = OutcomeRecorder::of(&mut call);
        RpcFuture { inner: self.engine.call(call), recorder }
    }
}

impl Service<Call> for Runner {
    type Response = Outcome;
    type Error = Infallible;
    type Future = RpcFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> RpcFuture {
        self.run(call)
    }
}

impl RpcFuture {
    /// Maps the outcome, without another future if it is ready.
    pub fn map(self, map: impl FnOnce(Outcome) -> Outcome + Send + 'static) -> CallFuture {
        let Self { inner, recorder } = self;
        match inner.into_outcome() {
            Ok(outcome) => {
                recorder.end(&outcome);
                CallFuture::ready(map(outcome))
            }
            Err(inner) => {
                let future = Self { inner, recorder };
                CallFuture::from_future(async move {
                    let Ok(outcome) = future.await;
                    map(outcome)
                })
            }
        }
    }
}

impl Future for RpcFuture {
    type Output = Result<Outcome, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Ok(outcome) = ready!(Pin::new(&mut self.inner).poll(cx));
        mem::replace(&mut self.recorder, OutcomeRecorder::None).end(&outcome);
        Poll::Ready(Ok(outcome))
    }
}

impl OutcomeRecorder {
    fn of(call: &mut Call) -> Self {
        match (call.take_recording(), call.notes()) {
            (Some(recording), _) => Self::Recording(recording),
            (None, Some(notes)) => Self::Notes(Arc::clone(notes)),
            (None, None) => Self::None,
        }
    }

    fn end(self, outcome: &Outcome) {
        match self {
            Self::None => {}
            Self::Recording(recording) => recording.end(outcome),
            Self::Notes(notes) => {
                if let Some(code) = outcome.code() {
                    notes.failed(code);
                }
            }
        }
    }
}
