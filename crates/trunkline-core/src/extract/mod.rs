//! What a handler may ask for: extractors.

mod call_id;
#[cfg(feature = "cancellation")]
mod cancellation;
mod state;
mod tuple;

use crate::call::Call;
use crate::error::ErrorObject;

pub use call_id::CallId;
pub use state::State;

/// An argument of a handler: something that can be had from a call and the router's state.
///
/// Write your own for what your handlers need of the extensions that a transport or a layer has
/// set; what `from_call` refuses is the call's error.
///
/// ```
/// # use trunkline::{Call, ErrorObject, FromCall};
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// impl<S> FromCall<S> for Tenant {
///     fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
///         let tenant = call.extensions().get::<Tenant>();
///         tenant.cloned().ok_or_else(|| ErrorObject::new(1, "no tenant"))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a handler",
    note = "params are taken with `Params<{Self}>`, other values with an extractor: see `FromCall`"
)]
pub trait FromCall<S>: Sized {
    /// Whether this extractor reads the params. When none of a handler's extractors does, the
    /// handler takes no params, and any that are sent are refused.
    const READS_PARAMS: bool = false;

    /// Whether the last of the params that it [declares](Self::declared) takes, by position, all
    /// that are left.
    const VARIADIC: bool = false;

    /// Extracts the value.
    ///
    /// # Errors
    /// The error object that the call ends with instead.
    fn from_call(call: &mut Call, state: &S) -> Result<Self, ErrorObject>;

    /// The names of the params that this extractor takes, for descriptions.
    #[must_use]
    fn declared() -> Vec<&'static str> {
        Vec::new()
    }
}

/// An argument that may be missing: `Option<T>` of it is an argument, too.
pub trait OptionalFromCall<S>: Sized {
    /// Extracts the value, if there is one.
    ///
    /// # Errors
    /// The error object that the call ends with instead.
    fn from_call(call: &mut Call, state: &S) -> Result<Option<Self>, ErrorObject>;
}

impl<S, T: OptionalFromCall<S>> FromCall<S> for Option<T> {
    fn from_call(call: &mut Call, state: &S) -> Result<Self, ErrorObject> {
        T::from_call(call, state)
    }
}
