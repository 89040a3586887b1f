//! The server as a tower service, wrapped in the layers of a client.

use std::sync::Arc;

use tower::{Layer, Service};
use trunkline_core::call::{Call, CallFuture, Endpoint, run_when_ready};
use trunkline_core::error::BoxError;
use trunkline_core::outcome::Outcome;

use super::retry::{Attempts, Retry};
use super::wire::Wire;

/// The server, wrapped in the layers added so far. [`Client::layer`](super::Client::layer) adds a layer. Its
/// errors are [`Failure`](super::Failure)s and the errors of layers.
pub type Remote = Endpoint<BoxError>;

/// The server without layers.
pub(super) fn remote(wire: Arc<Wire>, retry: Option<Retry>) -> Remote {
    Remote::new(move |call| {
        let wire = Arc::clone(&wire);
        CallFuture::boxed(async move {
            let ended = match (retry, call.extensions().get::<Attempts>().copied()) {
                (Some(retry), Some(attempts)) => retry.run(&wire, call, attempts).await,
                _ => wire.call(call).await,
            };
            ended.map_err(BoxError::from)
        })
    })
}

/// The server in one more layer.
pub(super) fn layered<L>(remote: Remote, layer: &L) -> Remote
where
    L: Layer<Remote>,
    L::Service: Service<Call, Response = Outcome> + Clone + Send + Sync + 'static,
    <L::Service as Service<Call>>::Error: Into<BoxError> + Send,
    <L::Service as Service<Call>>::Future: Send,
{
    let service = layer.layer(remote);
    Remote::new(move |call| {
        run_when_ready(service.clone(), call).then(|ended| ended.map_err(Into::into))
    })
}
