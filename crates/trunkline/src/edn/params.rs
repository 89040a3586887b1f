//! Params and results that are EDN.

use serde::Serialize;
use serde::de::DeserializeOwned;
use trunkline_edn::{Keyword, Map, Value, from_value, json, to_value};

use super::fault;
use super::result::outcome;
use crate::call::Call;
use crate::error::ErrorObject;
use crate::extract::FromCall;
use crate::outcome::Outcome;
use crate::params::{ParamsError, declared_fields};
use crate::router::IntoOutcome;

/// As an argument: the params, as EDN. As a result: whatever `T` is in EDN.
///
/// Sent in EDN, params are what was sent: keywords are keywords, `#inst` is an [`Inst`](super::Inst).
/// Sent in JSON, they are what [`json`] makes of that: objects are maps with keywords for keys. `T` is
/// [`Value`], or anything that serde reads; a struct takes its fields by name and by position, and
/// refuses names that it does not declare, as [`Params`](crate::Params) does. Without params, a
/// `Value` is nil.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edn<T>(pub T);

impl<S, T: DeserializeOwned> FromCall<S> for Edn<T> {
    const READS_PARAMS: bool = true;

    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        let fields = declared_fields::<T>();
        let params = bound(params(call)?, fields)?;
        let read = from_value(params);
        read.map(Self).map_err(|error| ErrorObject::invalid_params(&error.to_string()))
    }

    fn declared() -> Vec<&'static str> {
        declared_fields::<T>().to_vec()
    }
}

/// The params of a call; none if it has none.
fn params(call: &Call) -> Result<Option<Value>, ErrorObject> {
    if let Some(params) = call.aside().and_then(|aside| aside.params()) {
        return Ok(Some(params.clone()));
    }
    let Some(text) = call.params() else { return Ok(None) };
    let text = String::from_utf8_lossy(text);
    let params = json::from_str(&text);
    params.map(Some).map_err(|error| fault::unconvertible(error, Some("params")))
}

/// The params by name, if fields are declared. Each of them was sent once, or not at all.
fn bound(params: Option<Value>, fields: &[&'static str]) -> Result<Value, ParamsError> {
    let declared = || fields.to_vec();
    match params {
        Some(params) if fields.is_empty() => Ok(params),
        None if fields.is_empty() => Ok(Value::Nil),
        None => Ok(Value::Map(Map::new())),
        Some(Value::Map(map)) => {
            let name = |key: &Value| json::key_text(key).unwrap_or_else(|_| key.to_string());
            let unknown: Vec<String> =
                map.keys().map(name).filter(|name| !fields.contains(&&**name)).collect();
            if unknown.is_empty() {
                return Ok(Value::Map(map));
            }
            Err(ParamsError::Unknown { params: unknown, declared: declared() })
        }
        Some(params) => {
            let given = params.as_sequence().unwrap_or_default();
            if given.len() > fields.len() {
                return Err(ParamsError::TooMany { given: given.len(), declared: declared() });
            }
            let keyword =
                |name: &&str| Keyword::new(name).map_or_else(|_| Value::from(*name), Value::from);
            Ok(Value::Map(fields.iter().map(keyword).zip(given.iter().cloned()).collect()))
        }
    }
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
