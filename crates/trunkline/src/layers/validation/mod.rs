//! Validation of params against JSON Schemas, for operations without a Rust type.

mod faults;
mod params;
mod schema;
mod shape;
mod validator;

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tower::{Layer, Service};
use trunkline_core::call::{Call, Description};
use trunkline_core::error::ErrorObject;
use trunkline_core::outcome::Outcome;

use super::future::RefusableFuture;

pub use faults::{Fault, Faults};
pub use validator::{SchemaError, Validator};

/// Refuses params that do not match the [input schema](crate::Operation::input_schema) of their
/// operation, with -32602 and `data.errors`: an array of `{"pointer", "reason"}`, a JSON Pointer (RFC
/// 6901) into the params by name and the reason. It is for operations whose handlers take
/// [`RawParams`](crate::RawParams); the deserialization of a Rust type checks params by itself.
///
/// Params in which an object has a duplicate member, at any depth, are refused, since it is unknown which
/// of the two the handler would read.
///
/// Params by position are checked under the names that the operation declares; without names they are
/// refused. Calls of an operation without a schema pass, and so do the calls of a client, which have no
/// operation. An invalid schema fails every call with -32603: [`Validator::new`] finds it before.
///
/// ```
/// # use serde_json::json;
/// # use trunkline::{Operation, RawParams, Router, layers::ValidateLayer};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = json!({
///     "type": "object",
///     "properties": { "count": { "type": "integer", "minimum": 1 } },
///     "required": ["count"],
/// });
/// let operation = Operation::new("repeat", |_: RawParams| "again").input_schema(schema);
/// let rpc = Router::new().operation(operation).layer(ValidateLayer::new()).build()?;
/// let refused = rpc.call::<String>("repeat", &json!({ "count": 0 })).await.unwrap_err();
/// assert_eq!(
///     refused.data().map(|data| data.get()),
///     Some(r#"{"errors":[{"pointer":"/count","reason":"this value is less than the minimum of 1"}]}"#),
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ValidateLayer(());

impl ValidateLayer {
    /// Checks the params of each call.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S> Layer<S> for ValidateLayer {
    type Service = Validate<S>;

    fn layer(&self, inner: S) -> Validate<S> {
        Validate { inner, validator: Arc::default() }
    }
}

/// Refuses params that do not match, see [`ValidateLayer`].
#[derive(Debug, Clone)]
pub struct Validate<S> {
    inner: S,
    /// Compiled by the first call, which has the operation of this service.
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
    // Omitted params are the same as no members.
    let text = params.unwrap_or(b"{}");
    if validator.accepts(text) {
        return Ok(());
    }
    validator.check_names(text)?;
    let params = serde_json::from_slice(text).map_err(|error| Faults::whole(error.to_string()))?;
    let params = params::by_name(description, params).map_err(Faults::whole)?;
    // The value read above has unique members, the text that the handler reads may have duplicates.
    params::check_unique(description, text)?;
    validator.check(&params, text.len())
}
