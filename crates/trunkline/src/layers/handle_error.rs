//! Layers that fail by themselves, made into layers that answer.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tower::util::Oneshot;
use tower::{Layer, Service};

use trunkline_core::call::{Call, Endpoint};
use trunkline_core::error::{BoxError, ErrorObject, RpcError, code};
use trunkline_core::outcome::Outcome;

/// Makes error objects of the errors that inner layers return.
///
/// [`Router::layer`](crate::Router::layer) does this by itself, with the [default
/// policy](Self::documented): an [`ErrorObject`] is sent as it is, tower's
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

/// The endpoint inside `layer`, whose errors are made into error objects by the default policy.
pub(crate) fn layered<L>(endpoint: Endpoint, layer: &L) -> Endpoint
where
    L: Layer<Endpoint>,
    L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
    <L::Service as Service<Call>>::Error: Into<BoxError>,
    <L::Service as Service<Call>>::Future: Send,
{
    Endpoint::from_service(HandleErrorLayer::documented().layer(layer.layer(endpoint)))
}

/// The policy for errors of tower's own layers and of any other:
///
/// | error | reply |
/// |---|---|
/// | [`ErrorObject`] | itself |
/// | tower's `Elapsed` | -32004 timed out |
/// | tower's `Overloaded` | -32005 busy |
/// | any other | -32603, and the cause goes to the log |
fn outcome_of(error: BoxError) -> Outcome {
    if error.is::<tower::timeout::error::Elapsed>() {
        return Outcome::error(ErrorObject::new(code::TIMEOUT, "Call timed out"));
    }
    if error.is::<tower::load_shed::error::Overloaded>() {
        return Outcome::error(ErrorObject::new(code::BUSY, "Server is busy"));
    }
    Outcome::error(error.into_error_object())
}

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

pin_project_lite::pin_project! {
    /// The future of a call whose service may fail.
    pub struct HandleErrorFuture<S, F>
    where
        S: Service<Call>,
    {
        #[pin]
        inner: Oneshot<S, Call>,
        policy: Arc<F>,
    }
}

impl<S: Service<Call>, F> HandleErrorFuture<S, F> {
    fn new(service: S, call: Call, policy: Arc<F>) -> Self {
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
