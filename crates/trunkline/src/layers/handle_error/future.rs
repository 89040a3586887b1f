use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tower::Service;

use crate::call::{Call, Oneshot};
use crate::error::BoxError;
use crate::outcome::Outcome;

pin_project_lite::pin_project! {
    /// The future of a call whose service may fail.
    pub struct HandleErrorFuture<S, F>
    where
        S: Service<Call>,
    {
        #[pin]
        inner: Oneshot<S>,
        policy: Arc<F>,
    }
}

impl<S: Service<Call>, F> HandleErrorFuture<S, F> {
    pub(super) fn new(service: S, call: Call, policy: Arc<F>) -> Self {
        Self { inner: Oneshot::new(service, call), policy }
    }
}

impl<S, F> Future for HandleErrorFuture<S, F>
where
    S: Service<Call, Response = Outcome>,
    S::Error: Into<BoxError>,
    F: Fn(BoxError) -> Outcome,
{
    type Output = Result<Outcome, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = match ready!(this.inner.poll(cx)) {
            Ok(outcome) => outcome,
            Err(error) => (this.policy)(error.into()),
        };
        Poll::Ready(Ok(outcome))
    }
}

impl<S: Service<Call>, F> fmt::Debug for HandleErrorFuture<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandleErrorFuture")
    }
}
