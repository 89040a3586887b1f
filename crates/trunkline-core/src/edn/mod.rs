//! Params and results in EDN.

mod deserializer;

use serde::Serialize;
use serde::de::DeserializeOwned;
use trunkline_edn::{Value, json, to_value};

use crate::call::Call;
use crate::error::{ErrorObject, RpcError};
use crate::extract::FromCall;
use crate::format::Encoding;
use crate::format::edn::{outcome, unconvertible};
use crate::operation::IntoOutcome;
use crate::outcome::Outcome;
use crate::params::{check_names, declared_fields};
use deserializer::ParamsDeserializer;

/// Extracts the params from EDN. As a result, returns a value as EDN.
///
/// `T` is [`Value`] or any `Deserialize` type. It accepts params like [`Params`](crate::params::Params): a struct
/// by name and by position, a map by name, a tuple or a `Vec` by position. Errors have the same `data`, with the
/// `reason` of EDN. Without params, a `Value` is nil.
///
/// Params that were sent in EDN are unchanged: keywords are keywords, `#inst` is an `Inst`. Params that were sent
/// in JSON are converted with [`json`]: objects become maps with keywords as keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edn<T>(pub T);

impl<S, T: DeserializeOwned> FromCall<S> for Edn<T> {
    const READS_PARAMS: bool = true;

    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let sent = call.encoding().and_then(Encoding::params);
        let converted = match (sent, call.params()) {
            (None, Some(text)) => Some(of_json::<T>(text)?),
            _ => None,
        };
        Ok(Self(T::deserialize(ParamsDeserializer::new(sent.or(converted.as_ref())))?))
    }

    fn declared() -> Vec<&'static str> {
        declared_fields::<T>().to_vec()
    }
}

/// Converts params that were sent in JSON.
fn of_json<T: DeserializeOwned>(text: &[u8]) -> Result<Value, ErrorObject> {
    json::from_str(&String::from_utf8_lossy(text)).or_else(|error| {
        let fields = declared_fields::<T>();
        if !fields.is_empty() {
            check_names(text, fields)?;
        }
        Err(unconvertible(error, Some("params")))
    })
}

impl<T: Serialize> IntoOutcome for Edn<T> {
    fn into_outcome(self) -> Outcome {
        match to_value(&self.0) {
            Ok(value) => outcome(value),
            Err(error) => Outcome::error(ErrorObject::internal(&error)),
        }
    }
}

impl IntoOutcome for Value {
    fn into_outcome(self) -> Outcome {
        outcome(self)
    }
}

/// Returns the value of `Ok` as EDN.
impl<T: Serialize, E: RpcError> IntoOutcome for Result<Edn<T>, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => Outcome::error(error.into_error_object()),
        }
    }
}
