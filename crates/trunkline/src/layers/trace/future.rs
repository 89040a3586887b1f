use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tracing::Span;

use crate::outcome::Outcome;

/// The future of a call in its span.
pub struct TraceFuture<F> {
    inner: F,
    span: Span,
}

impl<F> TraceFuture<F> {
    pub(super) fn new(inner: F, span: Span) -> Self {
        Self { inner, span }
    }
}

impl<F> Future for TraceFuture<F>
where
    F: Future<Output = Result<Outcome, Infallible>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let _entered = this.span.enter();
        let Ok(outcome) = ready!(Pin::new(&mut this.inner).poll(cx));
        if let Some(code) = outcome.code() {
            this.span.record("rpc.response.status_code", code);
        }
        Poll::Ready(Ok(outcome))
    }
}

impl<F> fmt::Debug for TraceFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFuture").field("span", &self.span).finish_non_exhaustive()
    }
}
