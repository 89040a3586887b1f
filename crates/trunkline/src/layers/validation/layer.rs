use std::sync::Arc;

use tower::Layer;

use super::Validate;

/// Refuses params that do not fit the [input schema](crate::Operation::input_schema) of their
/// operation, with -32602 and `data.errors`: an array of `{"pointer", "reason"}`, a JSON Pointer (RFC
/// 6901) into the params by name and what is wrong there. It is for operations whose handlers take
/// params [as they are](crate::RawParams); one that takes a Rust type has checked them already.
///
/// Params in which an object has two members of one name, at any depth, are refused: which of the two a
/// handler would read is not known.
///
/// Params by position are looked at under the names that the operation declares; without names they are
/// refused. An operation without a schema is let alone. A schema that is none answers every call with
/// -32603: [`Validator::new`](super::Validator::new) tells before.
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
