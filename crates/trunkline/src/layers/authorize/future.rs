use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::outcome::Outcome;

pin_project_lite::pin_project! {
    /// The future of a call that may have been refused.
    pub struct AuthorizeFuture<F> {
        refused: Option<Outcome>,
        #[pin]
        allowed: Option<F>,
    }
}

impl<F> AuthorizeFuture<F> {
    pub(super) fn allowed(inner: F) -> Self {
        Self { refused: None, allowed: Some(inner) }
    }

    pub(super) fn refused(outcome: Outcome) -> Self {
        Self { refused: Some(outcome), allowed: None }
    }
}

impl<F> Future for AuthorizeFuture<F>
where
    F: Future<Output = Result<Outcome, Infallible>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match this.allowed.as_pin_mut() {
            Some(inner) => inner.poll(cx),
            None => Poll::Ready(Ok(this.refused.take().expect("a call is answered once"))),
        }
    }
}

impl<F> fmt::Debug for AuthorizeFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthorizeFuture")
    }
}
