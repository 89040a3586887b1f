use std::any::type_name;

use super::FromCall;
use crate::call::Call;
use crate::error::ErrorObject;

/// Extracts a clone of the extension of type `T` that a transport or a layer has set.
///
/// A call without one ends with -32603: the server was put together without the layer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extension<T>(pub T);

impl<S, T: Clone + Send + Sync + 'static> FromCall<S> for Extension<T> {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        match call.extensions().get::<T>() {
            Some(value) => Ok(Self(value.clone())),
            None => {
                let missing = format_args!("no extension of type {} is set", type_name::<T>());
                Err(ErrorObject::internal(&missing))
            }
        }
    }
}
