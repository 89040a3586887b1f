//! Replies to the errors that layers return.

use std::sync::Arc;

use tower::{Layer, Service};
use trunkline_core::call::{Call, Endpoint, run_when_ready};
use trunkline_core::error::{BoxError, ErrorObject, RpcError, code};
use trunkline_core::operation::LayerFn;
use trunkline_core::outcome::Outcome;

/// Converts the errors that inner layers return into error objects.
///
/// [`Router::layer`](crate::Router::layer) adds it with the [default policy](Self::documented): an
/// [`ErrorObject`] is sent unchanged, tower's `Elapsed` is -32004, its `Overloaded` -32005, any other
/// error is -32603 and logged. Use this layer for another policy.
#[derive(Debug, Clone)]
pub struct HandleErrorLayer<F> {
    policy: Arc<F>,
}

impl<F: Fn(BoxError) -> Outcome> HandleErrorLayer<F> {
    /// Replies to each error with the outcome that `policy` returns.
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

impl<S, F> Layer<S> for HandleErrorLayer<F>
where
    S: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
    F: Fn(BoxError) -> Outcome + Send + Sync + 'static,
{
    type Service = Endpoint;

    /// A call awaits the readiness of the service inside, so that its error gets a reply.
    fn layer(&self, inner: S) -> Endpoint {
        let policy = Arc::clone(&self.policy);
        Endpoint::new(move |call| {
            let policy = Arc::clone(&policy);
            run_when_ready(inner.clone(), call)
                .then(move |ended| Ok(ended.unwrap_or_else(|error| policy(error.into()))))
        })
    }
}

/// Puts endpoints in `layer`. Errors become error objects by the default policy.
pub(crate) fn layer_fn<L>(layer: L) -> LayerFn
where
    L: Layer<Endpoint> + Send + Sync + 'static,
    L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
    <L::Service as Service<Call>>::Error: Into<BoxError> + Send,
    <L::Service as Service<Call>>::Future: Send,
{
    Arc::new(move |endpoint| endpoint_of(layer.layer(endpoint)))
}

/// The endpoint of a service. Errors become error objects by the default policy.
pub(super) fn endpoint_of<S>(service: S) -> Endpoint
where
    S: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    HandleErrorLayer::documented().layer(service)
}

/// The policy for errors of tower's own layers and of any other:
///
/// | error | reply |
/// |---|---|
/// | [`ErrorObject`] | itself |
/// | tower's `Elapsed` | -32004 timed out |
/// | tower's `Overloaded` | -32005 busy |
/// | any other | -32603, the cause is logged |
fn outcome_of(error: BoxError) -> Outcome {
    if error.is::<tower::timeout::error::Elapsed>() {
        return Outcome::error(ErrorObject::new(code::TIMEOUT, "Call timed out"));
    }
    if error.is::<tower::load_shed::error::Overloaded>() {
        return Outcome::error(ErrorObject::new(code::BUSY, "Server is busy"));
    }
    Outcome::error(error.into_error_object())
}
