use trunkline_edn::{Value, json};

use super::fault;
use crate::outcome::Outcome;

/// The outcome of a call that ends in EDN: every door has to be able to tell it, so what has no JSON
/// is no result.
pub(super) fn outcome(value: Value) -> Outcome {
    match json::to_string(&value) {
        Ok(json) => Outcome::written_in_edn(value, &json),
        Err(error) => Outcome::error(fault::unconvertible(error, Some("result"))),
    }
}
