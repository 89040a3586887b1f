//! Params against the input schema of their operation, for operations without a Rust type.

mod cost;
mod faults;
mod layer;
mod named;
mod reason;
mod repeated;
mod validator;

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tower::Service;
use trunkline_core::call::{Call, Description};
use trunkline_core::error::ErrorObject;
use trunkline_core::outcome::Outcome;

use crate::layers::RefusableFuture;

pub use faults::{Fault, Faults};
pub use layer::ValidateLayer;
pub use validator::{SchemaError, Validator};

/// Refuses params that do not fit, see [`ValidateLayer`].
#[derive(Debug, Clone)]
pub struct Validate<S> {
    inner: S,
    /// Made by the first call: which operation this is the service of is not known before.
    validator: Arc<OnceLock<Result<Validator, SchemaError>>>,
}

impl<S, E> Service<Call> for Validate<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
{
    type Response = Outcome;
    type Error = E;
    type Future = RefusableFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        match self.check(&call) {
            Ok(()) => RefusableFuture::running(self.inner.call(call)),
            Err(error) => RefusableFuture::refused(error),
        }
    }
}

impl<S> Validate<S> {
    fn check(&self, call: &Call) -> Result<(), ErrorObject> {
        let Some(operation) = call.operation() else { return Ok(()) };
        let description = operation.description();
        let Some(schema) = &description.input else { return Ok(()) };
        let validator = self.validator.get_or_init(|| Validator::new(schema)).as_ref();
        let validator = validator.map_err(|error| ErrorObject::internal_error(error))?;
        checked(validator, description, call.params()).map_err(ErrorObject::from)
    }
}

fn checked(
    validator: &Validator,
    description: &Description,
    params: Option<&[u8]>,
) -> Result<(), Faults> {
    // No params are none by name.
    let text = params.unwrap_or(b"{}");
    let params = serde_json::from_slice(text).map_err(|error| Faults::whole(error.to_string()))?;
    let params = named::params(description, params).map_err(Faults::whole)?;
    // What was read above has one member of each name, the handler's text may have two.
    repeated::check(description, text)?;
    validator.check(&params, text.len())
}
