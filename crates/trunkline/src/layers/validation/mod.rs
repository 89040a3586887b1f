//! Validation of params against JSON Schemas, for operations without a Rust type.

mod faults;
mod params;
mod schema;
mod validator;

use std::sync::{Arc, OnceLock};

use tower::Layer;
use trunkline_core::call::{Call, CallFuture, Description};
use trunkline_core::error::ErrorObject;
use trunkline_core::outcome::Outcome;

use super::layered::{CallLayer, CallService, Layered};

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
    type Service = Layered<Validate, S>;

    fn layer(&self, inner: S) -> Self::Service {
        Layered::new(&Validate::default(), inner)
    }
}

/// The validator of an operation.
#[derive(Debug, Clone, Default)]
pub struct Validate {
    /// Compiled by the first call, which has the operation of this service.
    validator: Arc<OnceLock<Result<Validator, SchemaError>>>,
}

impl CallLayer for Validate {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        match self.check(&call) {
            Ok(()) => inner.run(call),
            Err(error) => CallFuture::value(Ok(Outcome::error(error))),
        }
    }
}

impl Validate {
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
    let params = serde_json::from_slice(text).map_err(|error| Faults::whole(error.to_string()))?;
    let params = params::by_name(description, params).map_err(Faults::whole)?;
    // The value read above has unique members, the text that the handler reads may have duplicates.
    params::check_unique(description, text)?;
    validator.check(&params, text.len())
}
