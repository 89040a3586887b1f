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
    place: Place,
}

/// Where in a trace a call runs.
struct Place {
    span: Span,
    context: Option<TraceContext>,
}

impl<F> TraceFuture<F> {
    /// The call starts in its span, too: a handler that is not async runs in `start`.
    pub(super) fn new(
        span: Span,
        context: Option<TraceContext>,
        start: impl FnOnce() -> F,
    ) -> Self {
        let place = Place { span, context };
        Self { inner: place.run(start), place }
    }
}

impl<F, E> Future for TraceFuture<F>
where
    F: Future<Output = Result<Outcome, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { inner, place } = &mut *self;
        let ended = ready!(place.run(|| Pin::new(inner).poll(cx)));
        if let Some(code) = ended.as_ref().ok().and_then(Outcome::code) {
            place.span.record("rpc.response.status_code", code);
        }
        Poll::Ready(ended)
    }
}

impl Place {
    fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.span.enter();
        match self.context {
            Some(context) => context.scope(work),
            None => work(),
        }
    }
}

impl<F> fmt::Debug for TraceFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFuture").field("span", &self.place.span).finish_non_exhaustive()
    }
}
