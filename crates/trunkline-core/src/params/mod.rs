//! Params (JSON-RPC 2.0, section 4.2): by position and by name from one declaration.

mod binder;
mod declared;
mod deserializer;
mod error;
mod function;
mod integer;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::call::Call;
use crate::error::ErrorObject;
use crate::extract::FromCall;
use binder::Binder;
#[cfg(feature = "edn")]
pub(crate) use declared::fields as declared_fields;
use deserializer::ParamsDeserializer;
pub use error::ParamsError;
pub use function::may_be_absent;
pub use function::{Arguments, Function, Param, param};

/// Extracts the params as `T`, usually a struct with `#[derive(Deserialize)]`.
///
/// The struct's fields are the declaration: `{"a": 1, "b": 2}` and `[1, 2]` (in the order of the
/// fields) are the same. `Option` fields and fields with `#[serde(default)]` may be absent in
/// both forms. Unknown names, duplicates and too many positions are refused with -32602 and
/// `data` that names them. A struct with `#[serde(flatten)]` or a map takes names only, and of
/// duplicates among names that no field declares it keeps the last; a tuple or a `Vec` takes
/// positions only. `#[serde(alias)]` adds a position for each alias, so use it only where params
/// come by name.
///
/// Values are read to a nesting of 128, whatever the envelope's limit is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Params<T>(pub T);

/// Like [`Params`], but by position the last field takes all that is left: a `Vec`, or what else
/// reads a sequence. When nothing is left for it, or its name is not sent, it reads an empty
/// sequence, whatever its `#[serde(default)]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct VariadicParams<T>(pub T);

/// Extracts the params' JSON text as the client sent it: an array, an object, or nothing.
#[derive(Debug, Clone)]
pub struct RawParams(pub Option<Box<RawValue>>);

impl<S, T: DeserializeOwned> FromCall<S> for Params<T> {
    const READS_PARAMS: bool = true;

    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self(T::deserialize(ParamsDeserializer::new(call.params(), false))?))
    }

    fn declared() -> Vec<&'static str> {
        declared::fields::<T>().to_vec()
    }
}

impl<S, T: DeserializeOwned> FromCall<S> for VariadicParams<T> {
    const READS_PARAMS: bool = true;
    const VARIADIC: bool = true;

    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(Self(T::deserialize(ParamsDeserializer::new(call.params(), true))?))
    }

    fn declared() -> Vec<&'static str> {
        declared::fields::<T>().to_vec()
    }
}

impl<S> FromCall<S> for RawParams {
    const READS_PARAMS: bool = true;

    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let read = |text| serde_json::from_slice(text);
        match call.params().map(read).transpose() {
            Ok(params) => Ok(Self(params)),
            Err(error) => Err(ErrorObject::invalid_params(&error.to_string())),
        }
    }
}

/// Refuses any params: the handler takes none.
pub(crate) fn refuse_any(params: Option<&[u8]>) -> Result<(), ParamsError> {
    Binder::new(params, &[], false).next().map(drop)
}

/// Whether each param is declared, and sent once.
#[cfg(feature = "edn")]
pub(crate) fn check_names(params: &[u8], names: &[&'static str]) -> Result<(), ParamsError> {
    let mut binder = Binder::new(Some(params), names, false);
    while binder.next()?.is_some() {}
    Ok(())
}
