//! Who may call which methods.
//!
//! ```
//! # use trunkline::Router;
//! use trunkline::layers::authorize::{AuthorizeLayer, claim, scope};
//!
//! let router: Router = Router::new()
//!     .method("admin.stop", || "stopped")
//!     .method("billing.total", || 42)
//!     .method("ping", || "pong")
//!     .layer(
//!         AuthorizeLayer::new()
//!             .require("admin.*", claim("role", "admin"))
//!             .require("billing.*", scope("billing").or(claim("role", "admin"))),
//!     );
//! ```

mod future;
mod layer;
mod requirement;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower::Service;

use crate::access::Principal;
use crate::call::Call;
use crate::error::{ErrorObject, code};
use crate::outcome::Outcome;

pub use future::AuthorizeFuture;
pub use layer::AuthorizeLayer;
pub use requirement::{Requirement, authenticated, claim, principal, scope};

use layer::Rule;

/// Refuses calls of methods whose requirements their [`Principal`] does not meet: with -32007 where
/// there is none, else with -32008. The reply does not tell what is required.
#[derive(Debug, Clone)]
pub struct Authorize<S> {
    inner: S,
    rules: Arc<[Rule]>,
}

impl<S> Service<Call> for Authorize<S>
where
    S: Service<Call, Response = Outcome, Error = Infallible>,
{
    type Response = Outcome;
    type Error = Infallible;
    type Future = AuthorizeFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        match check(&self.rules, &call) {
            Ok(()) => AuthorizeFuture::allowed(self.inner.call(call)),
            Err(error) => AuthorizeFuture::refused(Outcome::error(error)),
        }
    }
}

fn check(rules: &[Rule], call: &Call) -> Result<(), ErrorObject> {
    let method = call.method();
    let mut rules = rules.iter().filter(|rule| rule.pattern.matches(&method)).peekable();
    if rules.peek().is_none() {
        return Ok(());
    }
    let Some(principal) = Principal::of(call.extensions()) else {
        return Err(ErrorObject::new(code::UNAUTHENTICATED, "Unauthenticated"));
    };
    if rules.all(|rule| rule.requirement.is_met_by(principal)) {
        return Ok(());
    }
    let reason = "the caller may not call this method";
    let error = ErrorObject::new(code::FORBIDDEN, "Forbidden");
    Err(error.with_data(&serde_json::json!({ "reason": reason })))
}
