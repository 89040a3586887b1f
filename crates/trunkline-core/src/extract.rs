//! Extractors: the arguments of handlers.

use crate::call::Call;
use crate::error::ErrorObject;
use crate::id::Id;

/// An argument of a handler that is extracted from the call and the state of the router.
///
/// Implement it for values that transports or layers set in the extensions. An error of `from_call` is the error of
/// the call.
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
    /// Whether this extractor reads the params. If no extractor of a handler does, the handler takes no params, and a
    /// call with params is rejected.
    const READS_PARAMS: bool = false;

    /// Whether the last of the [declared](Self::declared) params takes all remaining positions.
    const VARIADIC: bool = false;

    /// Extracts the value.
    ///
    /// # Errors
    /// The error of the call.
    fn from_call(call: &mut Call, state: &S) -> Result<Self, ErrorObject>;

    /// The names of the params, for descriptions.
    #[must_use]
    fn declared() -> Vec<&'static str> {
        Vec::new()
    }
}

/// An argument that may be missing. `Option<T>` is an extractor as well.
pub trait OptionalFromCall<S>: Sized {
    /// Extracts the value, if present.
    ///
    /// # Errors
    /// The error of the call.
    fn from_call(call: &mut Call, state: &S) -> Result<Option<Self>, ErrorObject>;
}

impl<S, T: OptionalFromCall<S>> FromCall<S> for Option<T> {
    fn from_call(call: &mut Call, state: &S) -> Result<Self, ErrorObject> {
        T::from_call(call, state)
    }
}

/// Extracts the id of the call. `None` for a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallId(pub Option<Id>);

impl<S> FromCall<S> for CallId {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self(call.id()))
    }
}

/// Extracts a clone of the router's state, set by `with_state`.
#[derive(Debug, Clone, Copy, Default)]
pub struct State<S>(pub S);

impl<S: Clone> FromCall<S> for State<S> {
    fn from_call(_call: &mut Call, state: &S) -> Result<Self, ErrorObject> {
        Ok(Self(state.clone()))
    }
}

/// Extracts a token that is cancelled when the call is dropped before it completes: the client disconnected, the
/// timeout elapsed, or the server was stopped.
///
/// An async handler is dropped in this case and does not need the token. Use it for work on other threads or in a
/// database. The token of a completed call is not cancelled.
#[cfg(feature = "cancellation")]
impl<S> FromCall<S> for tokio_util::sync::CancellationToken {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let token = Self::new();
        let cancelled = token.clone();
        call.on_cancel(move || cancelled.cancel());
        Ok(token)
    }
}

macro_rules! tuples {
    ($($type:ident),*) => {
        impl<S, $($type: FromCall<S>),*> FromCall<S> for ($($type,)*) {
            const READS_PARAMS: bool = false $(|| $type::READS_PARAMS)*;
            const VARIADIC: bool = false $(|| $type::VARIADIC)*;

            fn from_call(call: &mut Call, state: &S) -> Result<Self, ErrorObject> {
                Ok(($($type::from_call(call, state)?,)*))
            }

            fn declared() -> Vec<&'static str> {
                [$($type::declared()),*].concat()
            }
        }
    };
}

impl<S> FromCall<S> for () {
    fn from_call(_call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(())
    }
}

tuples!(A);
tuples!(A, B);
tuples!(A, B, C);
tuples!(A, B, C, D);
tuples!(A, B, C, D, E);
tuples!(A, B, C, D, E, G);
tuples!(A, B, C, D, E, G, H);
tuples!(A, B, C, D, E, G, H, I);
