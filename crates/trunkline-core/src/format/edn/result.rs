use std::any::Any;

use serde::Serialize;
use trunkline_edn::Value;

use super::fault;
use crate::outcome::Outcome;

/// The outcome of a call that ends in a value, which may be EDN.
pub fn outcome_of<T: Serialize + 'static>(value: T) -> Outcome {
    let mut value = Some(value);
    match (&mut value as &mut dyn Any).downcast_mut::<Option<Value>>().and_then(Option::take) {
        Some(value) => outcome(value),
        None => Outcome::result(&value),
    }
}

/// The outcome of a call that ends in EDN: every door has to be able to tell it, so what has no JSON
/// is no result.
pub fn outcome(value: Value) -> Outcome {
    Outcome::of_edn(value)
        .unwrap_or_else(|error| Outcome::error(fault::unconvertible(error, Some("result"))))
}
