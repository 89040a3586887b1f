use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tracing::Span;

use crate::outcome::Outcome;
use crate::trace_context::TraceContext;

/// The future of a call in its span.
pub struct TraceFuture<F> {
    inner: F,
    /// Boxed, so that calls that are not traced do not carry the room for it along.
    place: Option<Box<Place>>,
}

/// Where in a trace a call runs.
pub(super) struct Place {
    pub(super) span: Span,
    pub(super) context: TraceContext,
}

impl<F> TraceFuture<F> {
    /// The call starts in its place, too: a handler that is not async runs in `start`.
    pub(super) fn new(place: Option<Place>, start: impl FnOnce() -> F) -> Self {
        let place = place.map(Box::new);
        Self { inner: run(place.as_deref(), start), place }
    }
}

impl<F, E> Future for TraceFuture<F>
where
    F: Future<Output = Result<Outcome, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { inner, place } = &mut *self;
        let ended = ready!(run(place.as_deref(), || Pin::new(inner).poll(cx)));
        let code = ended.as_ref().ok().and_then(Outcome::code);
        if let (Some(place), Some(code)) = (place, code) {
            place.span.record("rpc.response.status_code", code);
        }
        Poll::Ready(ended)
    }
}

fn run<T>(place: Option<&Place>, work: impl FnOnce() -> T) -> T {
    match place {
        Some(place) => place.span.in_scope(|| place.context.scope(work)),
        None => work(),
    }
}

impl<F> fmt::Debug for TraceFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = self.place.as_ref().map(|place| &place.span);
        f.debug_struct("TraceFuture").field("span", &span).finish_non_exhaustive()
    }
}
