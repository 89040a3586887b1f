//! A layer from an async function.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::{Layer, Service};

use trunkline_client::Remote;
use trunkline_core::call::{Call, CallFuture, Endpoint};
use trunkline_core::error::BoxError;
use trunkline_core::outcome::Outcome;

/// Makes a layer of a function that gets the call and what comes after.
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
/// Around a [client](crate::client::Client::layer), what comes after may fail:
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
pub fn from_fn<F, S, R>(function: F) -> FromFnLayer<F>
where
    F: Fn(Call, Next<S>) -> R,
    R: Future + Send + 'static,
{
    FromFnLayer(Arc::new(function))
}

/// The rest of the way: to the handler, or of a client to the server.
#[derive(Debug)]
pub struct Next<S = Endpoint>(pub(crate) S);

impl Next {
    /// Goes on with the call.
    pub async fn run(mut self, call: Call) -> Outcome {
        let Ok(outcome) = self.0.call(call).await;
        outcome
    }
}

/// A layer made by [`from_fn`].
pub struct FromFnLayer<F>(Arc<F>);

/// A service made by [`from_fn`].
pub struct FromFn<F, S = Endpoint> {
    pub(crate) function: Arc<F>,
    pub(crate) inner: S,
}

impl<F, S> Layer<S> for FromFnLayer<F> {
    type Service = FromFn<F, S>;

    fn layer(&self, inner: S) -> FromFn<F, S> {
        FromFn { function: Arc::clone(&self.0), inner }
    }
}

impl<F, R> Service<Call> for FromFn<F>
where
    F: Fn(Call, Next) -> R,
    R: Future<Output = Outcome> + Send + 'static,
{
    type Response = Outcome;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> CallFuture {
        CallFuture::later((self.function)(call, Next(self.inner.clone())))
    }
}

impl<F> Clone for FromFnLayer<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F, S: Clone> Clone for FromFn<F, S> {
    fn clone(&self) -> Self {
        Self { function: Arc::clone(&self.function), inner: self.inner.clone() }
    }
}

impl<F> fmt::Debug for FromFnLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFnLayer")
    }
}

impl<F, S> fmt::Debug for FromFn<F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFn")
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

impl<F, R> Service<Call> for FromFn<F, Remote>
where
    F: Fn(Call, Next<Remote>) -> R,
    R: Future<Output = Result<Outcome, BoxError>> + Send + 'static,
{
    type Response = Outcome;
    type Error = BoxError;
    type Future = R;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> R {
        (self.function)(call, Next(self.inner.clone()))
    }
}
