//! A layer from an async function.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use tower::{Layer, Service};
use trunkline_client::Remote;
use trunkline_core::call::{Call, CallFuture, Endpoint};
use trunkline_core::error::BoxError;
use trunkline_core::outcome::Outcome;

use super::handle_error::endpoint_of;

/// Makes a layer from an async function of the call and the [`Next`] service.
///
/// ```
/// # use trunkline::{Call, Router, layers::{Next, from_fn}};
/// # fn main() -> Result<(), trunkline::BuildError> {
/// let rpc = Router::new()
///     .method("ping", || "pong")
///     .layer(from_fn(|call: Call, next: Next| async move {
///         let started = std::time::Instant::now();
///         let outcome = next.run(call).await;
///         println!("took {:?}", started.elapsed());
///         outcome
///     }))
///     .build()?;
/// # Ok(())
/// # }
/// ```
///
/// The service inside must be infallible: inside of it, layers that return errors need a
/// [`HandleErrorLayer`](crate::layers::HandleErrorLayer) around them.
///
/// Around a [client](crate::client::Client::layer), the next service may fail:
///
/// ```
/// # use trunkline::{Call, Router, client::{Client, Remote}, layers::{Next, from_fn}};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let rpc = Router::new().method("ping", || "pong").build()?;
/// let client = Client::new(rpc).layer(from_fn(|mut call: Call, next: Next<Remote>| async move {
///     let mut headers = http::HeaderMap::new();
///     headers.insert("x-tenant", http::HeaderValue::from_static("acme"));
///     call.extensions_mut().insert(headers);
///     next.run(call).await
/// }));
/// assert_eq!(client.call::<String>("ping", ()).await?, "pong");
/// # Ok(())
/// # }
/// ```
pub fn from_fn<F, S, R>(function: F) -> FromFnLayer<F, S>
where
    F: Fn(Call, Next<S>) -> R,
    R: Future + Send + 'static,
{
    FromFnLayer { function: Arc::new(function), next: PhantomData }
}

/// The service inside of a layer, which leads to the handler or, in a client, to the server.
#[derive(Debug)]
pub struct Next<S = Endpoint>(pub(crate) S);

impl Next {
    /// Runs the call.
    pub async fn run(mut self, call: Call) -> Outcome {
        let Ok(outcome) = self.0.call(call).await;
        outcome
    }
}

/// A layer made by [`from_fn`], for a function that gets a [`Next<S>`](Next).
pub struct FromFnLayer<F, S = Endpoint> {
    pub(crate) function: Arc<F>,
    next: PhantomData<fn(S)>,
}

impl<F, S, R> Layer<S> for FromFnLayer<F>
where
    S: Service<Call, Response = Outcome, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send,
    F: Fn(Call, Next) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    type Service = Endpoint;

    fn layer(&self, inner: S) -> Endpoint {
        let endpoint = (&inner as &dyn Any).downcast_ref::<Endpoint>().cloned();
        let inner = endpoint.unwrap_or_else(|| endpoint_of(inner));
        let function = Arc::clone(&self.function);
        Endpoint::new(move |call| CallFuture::from_future(function(call, Next(inner.clone()))))
    }
}

impl<F, R> Layer<Remote> for FromFnLayer<F, Remote>
where
    F: Fn(Call, Next<Remote>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Outcome, BoxError>> + Send + 'static,
{
    type Service = Remote;

    fn layer(&self, inner: Remote) -> Remote {
        let function = Arc::clone(&self.function);
        Remote::new(move |call| CallFuture::boxed(function(call, Next(inner.clone()))))
    }
}

impl<F, S> Clone for FromFnLayer<F, S> {
    fn clone(&self) -> Self {
        Self { function: Arc::clone(&self.function), next: PhantomData }
    }
}

impl<F, S> fmt::Debug for FromFnLayer<F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFnLayer")
    }
}

impl Next<Remote> {
    /// Goes on with the call.
    ///
    /// # Errors
    /// A [`Failure`](trunkline_client::Failure), or what a layer inside has failed with.
    pub async fn run(mut self, call: Call) -> Result<Outcome, BoxError> {
        self.0.call(call).await
    }
}
