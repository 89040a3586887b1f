//! How often each caller may call.

mod buckets;
mod layer;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tower::Service;

use crate::access::Principal;
use crate::call::Call;
use crate::error::{ErrorObject, code};
use crate::layers::RefusableFuture;
use crate::outcome::Outcome;
use crate::request::Peer;

pub use layer::{Rate, RateLimitLayer};

use buckets::{Buckets, Caller};

/// Refuses calls that come too fast, see [`RateLimitLayer`].
#[derive(Debug, Clone)]
pub struct RateLimit<S> {
    inner: S,
    buckets: Arc<Buckets>,
}

impl<S, E> Service<Call> for RateLimit<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = E;
    type Future = RefusableFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        match self.buckets.take(caller(&call), Instant::now()) {
            Ok(()) => RefusableFuture::running(self.inner.call(call)),
            Err(wait) => RefusableFuture::refused(too_fast(wait)),
        }
    }
}

fn caller(call: &Call) -> Caller<'_> {
    let extensions = call.extensions();
    if let Some(identity) = Principal::of(extensions).and_then(Principal::identity) {
        return Caller::Principal(identity);
    }
    match Peer::of(extensions).0 {
        Some(peer) => Caller::at(peer.ip()),
        None => Caller::Anyone,
    }
}

fn too_fast(wait: Duration) -> ErrorObject {
    // Not a millisecond too early.
    let millis = wait.as_nanos().div_ceil(1_000_000) as u64;
    let error = ErrorObject::new(code::RATE_LIMITED, "Too many calls");
    error.with_data(&json!({ "retry_after_ms": millis }))
}
