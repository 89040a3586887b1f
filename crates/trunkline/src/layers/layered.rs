//! The service of a layer around calls.

use std::mem;
use std::task::{Context, Poll};

use tower::Service;
use trunkline_core::call::{Call, CallFuture};
use trunkline_core::outcome::Outcome;

/// A layer around calls: what it does with one call.
///
/// ```
/// use trunkline::layers::{CallLayer, CallService, Layered};
/// use trunkline::protocol::CallFuture;
/// use trunkline::{Call, Router};
///
/// #[derive(Clone)]
/// struct Log;
///
/// impl CallLayer for Log {
///     fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
///         println!("{}", call.method());
///         inner.run(call)
///     }
/// }
///
/// # fn main() -> Result<(), trunkline::BuildError> {
/// let layer = tower::layer::layer_fn(|inner| Layered::new(&Log, inner));
/// let rpc = Router::new().method("ping", || "pong").layer(layer).build()?;
/// # Ok(())
/// # }
/// ```
pub trait CallLayer: Clone {
    /// Passes a call to `inner`, which is ready, or refuses it.
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error>;
}

/// The service inside of a layer.
pub trait CallService:
    Service<Call, Response = Outcome, Error: Send, Future: Send> + Clone + Send + 'static
{
    /// Passes the call to this service.
    #[inline]
    fn run(&mut self, call: Call) -> CallFuture<Self::Error> {
        CallFuture::of(self.call(call))
    }

    /// The service that is ready. Its clone remains.
    fn take(&mut self) -> Self {
        let clone = self.clone();
        mem::replace(self, clone)
    }
}

impl<S> CallService for S where
    S: Service<Call, Response = Outcome, Error: Send, Future: Send> + Clone + Send + 'static
{
}

/// A service in a layer.
#[derive(Debug, Clone)]
pub struct Layered<L, S> {
    layer: L,
    inner: S,
}

impl<L, S> Layered<L, S> {
    /// Puts a service in a layer.
    pub fn new(layer: &L, inner: S) -> Self
    where
        L: Clone,
    {
        Self { layer: layer.clone(), inner }
    }
}

impl<L: CallLayer, S: CallService> Service<Call> for Layered<L, S> {
    type Response = Outcome;
    type Error = S::Error;
    type Future = CallFuture<S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, call: Call) -> CallFuture<S::Error> {
        CallLayer::call(&self.layer, call, &mut self.inner)
    }
}

/// Implements `tower::Layer` for a type that implements [`CallLayer`].
macro_rules! layer {
    ($layer:ty) => {
        impl<S> tower::Layer<S> for $layer {
            type Service = $crate::layers::Layered<Self, S>;

            fn layer(&self, inner: S) -> Self::Service {
                $crate::layers::Layered::new(self, inner)
            }
        }
    };
}

pub(super) use layer;
