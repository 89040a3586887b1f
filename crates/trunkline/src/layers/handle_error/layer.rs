use std::sync::Arc;

use tower::Layer;

use super::HandleError;
use crate::call::outcome_of;
use crate::error::BoxError;
use crate::outcome::Outcome;

/// Makes error objects of the errors that inner layers return.
///
/// [`Router::layer`](crate::Router::layer) does this by itself, with the [default
/// policy](Self::documented): an [`ErrorObject`](crate::ErrorObject) is sent as it is, tower's
/// `Elapsed` is -32004, its `Overloaded` -32005, anything else is -32603 and logged. Use this
/// layer where you want another policy.
#[derive(Debug, Clone)]
pub struct HandleErrorLayer<F> {
    policy: Arc<F>,
}

impl<F: Fn(BoxError) -> Outcome> HandleErrorLayer<F> {
    /// `policy` says what an error is answered with.
    pub fn new(policy: F) -> Self {
        Self { policy: Arc::new(policy) }
    }
}

impl HandleErrorLayer<fn(BoxError) -> Outcome> {
    /// The default policy.
    #[must_use]
    pub fn documented() -> Self {
        Self::new(outcome_of)
    }
}

impl<S, F> Layer<S> for HandleErrorLayer<F> {
    type Service = HandleError<S, F>;

    fn layer(&self, inner: S) -> HandleError<S, F> {
        HandleError { inner, policy: Arc::clone(&self.policy) }
    }
}
