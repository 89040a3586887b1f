//! Params (JSON-RPC 2.0, section 4.2), by position and by name.

mod binder;
mod declared;
mod deserializer;
mod error;
mod integer;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::call::Call;
use crate::error::ErrorObject;
use crate::extract::FromCall;
use binder::Binder;
pub use declared::fields as declared_fields;
use deserializer::ParamsDeserializer;
pub use error::ParamsError;

/// Extracts the params as `T`, usually a struct with `#[derive(Deserialize)]`.
///
/// The fields of the struct are the declaration: `{"a": 1, "b": 2}` and `[1, 2]` (in the order of the fields) are
/// equivalent. `Option` fields and fields with `#[serde(default)]` may be missing in both forms. Unknown names,
/// duplicates and too many positions are rejected with -32602 and `data` that lists them.
///
/// A struct with `#[serde(flatten)]` or a map accepts names only; of duplicates that no field declares, it keeps the
/// last. A tuple or a `Vec` accepts positions only. `#[serde(alias)]` adds a position for each alias, so use it only
/// for params by name.
///
/// The maximum nesting of values is 128, regardless of the limit of the body.
#[derive(Debug, Clone, Copy, Default)]
pub struct Params<T>(pub T);

/// Like [`Params`], but the last field takes all remaining positions. It must be a `Vec` or another type that
/// deserializes from a sequence. Without remaining positions, or if its name is missing, it is an empty sequence,
/// regardless of `#[serde(default)]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct VariadicParams<T>(pub T);

/// Extracts the JSON text of the params unchanged: an array, an object, or `None`.
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

/// Whether a param of this type may be missing, such as an `Option`.
pub fn may_be_absent<T: DeserializeOwned>() -> bool {
    #[derive(Deserialize)]
    struct Declaration<T> {
        #[expect(dead_code, reason = "only its absence matters")]
        param: T,
    }
    Declaration::<T>::deserialize(ParamsDeserializer::new(None, false)).is_ok()
}

/// Rejects params, for a handler that takes none.
pub(crate) fn refuse_any(params: Option<&[u8]>) -> Result<(), ParamsError> {
    Binder::new(params, &[], false).next().map(drop)
}

/// Checks that each param is declared and not duplicated, for params that are converted to the types of a codec.
///
/// # Errors
/// For the first param that is not.
pub fn check_names(params: &[u8], names: &'static [&'static str]) -> Result<(), ParamsError> {
    let mut binder = Binder::new(Some(params), names, false);
    while binder.next()?.is_some() {}
    Ok(())
}
