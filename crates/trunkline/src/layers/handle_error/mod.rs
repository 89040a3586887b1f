//! Layers that fail by themselves, made into layers that answer.

mod future;
mod layer;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::Service;

use crate::call::Call;
use crate::error::{BoxError, ErrorObject, code};
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

/// The policy for errors of tower's own layers and of any other:
///
/// | error | reply |
/// |---|---|
/// | [`ErrorObject`] | itself |
/// | tower's `Elapsed` | -32004 timed out |
/// | tower's `Overloaded` | -32005 busy |
/// | any other | -32603, and the cause goes to the log |
pub(crate) fn outcome_of(error: BoxError) -> Outcome {
    use crate::error::RpcError;

    if error.is::<tower::timeout::error::Elapsed>() {
        return Outcome::error(ErrorObject::new(code::TIMEOUT, "Call timed out"));
    }
    if error.is::<tower::load_shed::error::Overloaded>() {
        return Outcome::error(ErrorObject::new(code::BUSY, "Server is busy"));
    }
    Outcome::error(error.into_error_object())
}
