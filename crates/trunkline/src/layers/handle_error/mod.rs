//! Layers that fail by themselves, made into layers that answer.

mod future;
mod layer;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::Service;

use crate::call::Call;
use crate::error::BoxError;
use crate::outcome::Outcome;

pub use future::HandleErrorFuture;
pub use layer::HandleErrorLayer;

/// Answers with an error object where the service inside returns an error of its own.
#[derive(Debug, Clone)]
pub struct HandleError<S, F> {
    inner: S,
    policy: Arc<F>,
}

impl<S, F> Service<Call> for HandleError<S, F>
where
    S: Service<Call, Response = Outcome> + Clone,
    S::Error: Into<BoxError>,
    F: Fn(BoxError) -> Outcome,
{
    type Response = Outcome;
    type Error = Infallible;
    type Future = HandleErrorFuture<S, F>;

    /// Always ready: a service that is not is awaited by the call, which can then be answered.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        HandleErrorFuture::new(self.inner.clone(), call, Arc::clone(&self.policy))
    }
}
