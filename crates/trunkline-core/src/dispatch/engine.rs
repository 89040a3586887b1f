//! What runs calls: the layers that every call passes, and the projection before them.

use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tower_service::Service;

use super::projection::Projection;
use crate::call::{Call, CallFuture, Notes, Recording};
use crate::outcome::Outcome;

/// The layers that every call passes, and the operations behind them.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Runs a call that was resolved; a method that is no operation is unknown.
    fn call(&self, call: Call) -> CallFuture;
}

/// Runs calls that were resolved. Cloning is cheap.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    engine: Arc<dyn Engine>,
    projection: Option<Arc<dyn Projection>>,
}

/// The future of a call through all layers.
#[derive(Debug)]
pub struct RpcFuture {
    inner: CallFuture,
    ending: Ending,
}

/// Who is told the outcome.
#[derive(Debug)]
enum Ending {
    Unrecorded,
    Recorded(Recording),
    /// The record is of a message that the call was made for.
    Noted(Arc<Notes>),
}

impl Runner {
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, projection: None }
    }

    pub(super) fn project(&mut self, projection: Arc<dyn Projection>) {
        self.projection = Some(projection);
    }

    /// Runs a call of an operation, or of a method of the projection.
    pub(super) fn run(&self, mut call: Call) -> RpcFuture {
        let may_be_projected = call.operation().is_none()
            && call.encoding().is_none_or(|encoding| encoding.refusal().is_none());
        let projection = self.projection.as_ref().filter(|_| may_be_projected);
        match projection.filter(|projection| projection.has(&call.method())) {
            Some(projection) => {
                let ending = Ending::of(&mut call);
                RpcFuture { inner: projection.call(call), ending }
            }
            None => self.call_operation(call),
        }
    }

    /// Runs a call through the layers; a method that is no operation is unknown.
    pub(super) fn call_operation(&self, mut call: Call) -> RpcFuture {
        let ending = Ending::of(&mut call);
        RpcFuture { inner: self.engine.call(call), ending }
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
    /// Maps the outcome, without another future if it is already there.
    pub fn map(self, map: impl FnOnce(Outcome) -> Outcome + Send + 'static) -> CallFuture {
        let Self { inner, ending } = self;
        match inner.into_outcome() {
            Ok(outcome) => {
                ending.end(&outcome);
                CallFuture::ready(map(outcome))
            }
            Err(inner) => {
                let future = Self { inner, ending };
                CallFuture::later(async move {
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
        mem::replace(&mut self.ending, Ending::Unrecorded).end(&outcome);
        Poll::Ready(Ok(outcome))
    }
}

impl Ending {
    fn of(call: &mut Call) -> Self {
        match (call.take_recording(), call.notes()) {
            (Some(recording), _) => Self::Recorded(recording),
            (None, Some(notes)) => Self::Noted(Arc::clone(notes)),
            (None, None) => Self::Unrecorded,
        }
    }

    fn end(self, outcome: &Outcome) {
        match self {
            Self::Unrecorded => {}
            Self::Recorded(recording) => recording.end(outcome),
            Self::Noted(notes) => {
                if let Some(code) = outcome.code() {
                    notes.failed(code);
                }
            }
        }
    }
}
