//! Who may call which methods.
//!
//! ```
//! # fn main() -> Result<(), trunkline::BuildError> {
//! use trunkline::Router;
//! use trunkline::layers::authorize::{Rules, claim, scope};
//!
//! let rules = Rules::new()
//!     .require("admin.*", claim("role", "admin"))
//!     .require("billing.*", scope("billing").or(claim("role", "admin")));
//! let rpc = Router::new()
//!     .method("admin.stop", || "stopped")
//!     .method("billing.total", || 42)
//!     .method("ping", || "pong")
//!     .authorize(rules)
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Rules`] hold for all methods of a router; [`AuthorizeLayer`] is the layer that they put around those
//! that match.

mod layer;
mod requirement;
mod rules;

use std::sync::Arc;
use std::task::{Context, Poll};

use tower::Service;

use super::RefusableFuture;
use crate::access::Principal;
use crate::call::Call;
use crate::error::{ErrorObject, code};
use crate::outcome::Outcome;

pub use layer::AuthorizeLayer;
pub use requirement::{Requirement, authenticated, claim, principal, scope, subject};
pub use rules::Rules;

/// Refuses calls whose [`Principal`] does not meet all requirements: with -32007 where there is none,
/// else with -32008. The reply does not tell what is required.
#[derive(Debug, Clone)]
pub struct Authorize<S> {
    inner: S,
    requirements: Arc<[Requirement]>,
}

impl<S> Service<Call> for Authorize<S>
where
    S: Service<Call, Response = Outcome>,
    S::Future: Unpin,
{
    type Response = Outcome;
    type Error = S::Error;
    type Future = RefusableFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        match check(&self.requirements, &call) {
            Ok(()) => RefusableFuture::running(self.inner.call(call)),
            Err(error) => RefusableFuture::refused(error),
        }
    }
}

fn check(requirements: &[Requirement], call: &Call) -> Result<(), ErrorObject> {
    let Some(principal) = Principal::of(call.extensions()) else {
        return Err(ErrorObject::new(code::UNAUTHENTICATED, "Unauthenticated"));
    };
    if requirements.iter().all(|requirement| requirement.is_met_by(principal)) {
        return Ok(());
    }
    let reason = "the caller may not call this method";
    let error = ErrorObject::new(code::FORBIDDEN, "Forbidden");
    Err(error.with_data(&serde_json::json!({ "reason": reason })))
}
