//! A layer from an async function.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::{Layer, Service};

use crate::call::Call;
use crate::outcome::Outcome;
use crate::router::{CallFuture, Endpoint};

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
pub fn from_fn<F, R>(function: F) -> FromFnLayer<F>
where
    F: Fn(Call, Next) -> R,
    R: Future<Output = Outcome> + Send + 'static,
{
    FromFnLayer(Arc::new(function))
}

/// The rest of the way to the handler.
#[derive(Debug)]
pub struct Next(Endpoint);

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
pub struct FromFn<F> {
    function: Arc<F>,
    inner: Endpoint,
}

impl<F> Layer<Endpoint> for FromFnLayer<F> {
    type Service = FromFn<F>;

    fn layer(&self, inner: Endpoint) -> FromFn<F> {
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

impl<F> Clone for FromFn<F> {
    fn clone(&self) -> Self {
        Self { function: Arc::clone(&self.function), inner: self.inner.clone() }
    }
}

impl<F> fmt::Debug for FromFnLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFnLayer")
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFn")
    }
}
