use std::any::Any;

use serde::Serialize;
use trunkline_edn::Value;

use super::fault;
use super::params::Edn;
use crate::error::RpcError;
use crate::outcome::Outcome;
use crate::router::IntoOutcome;

/// The outcome of a call that ends in a value, which may be EDN.
pub(crate) fn outcome_of<T: Serialize + 'static>(value: T) -> Outcome {
    let mut value = Some(value);
    match (&mut value as &mut dyn Any).downcast_mut::<Option<Value>>().and_then(Option::take) {
        Some(value) => outcome(value),
        None => Outcome::result(&value),
    }
}

/// The outcome of a call that ends in EDN: every door has to be able to tell it, so what has no JSON
/// is no result.
pub(super) fn outcome(value: Value) -> Outcome {
    Outcome::of_edn(value)
        .unwrap_or_else(|error| Outcome::error(fault::unconvertible(error, Some("result"))))
}

/// `Edn` of its value, if there is one.
impl<T: Serialize, E: RpcError> IntoOutcome for Result<Edn<T>, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => Outcome::error(error.into_error_object()),
        }
    }
}
