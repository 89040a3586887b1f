//! Replies in EDN. History records them in JSON.

use serde::Serialize;
use std::any::Any;
use trunkline_edn::Error;
use trunkline_edn::Value;
use trunkline_edn::json::{self, FromJson};

use super::fault;
use crate::error::ErrorObject;
use crate::format::encoding::Encoding;
use crate::outcome::Outcome;

/// The response object for the call with this id, in EDN. Also returns the outcome, which is an error if the given one
/// cannot be represented in EDN. `id` is JSON text.
pub fn response(outcome: Outcome, id: &[u8], encoding: &Encoding) -> (Outcome, Vec<u8>) {
    let id = match encoding.id() {
        // An invalid id is not echoed.
        Some(sent) if id != b"null" => sent.to_string(),
        _ => id_text(id),
    };
    match written(&outcome, &id) {
        Ok(text) => (outcome, text),
        Err((member, error)) => {
            let outcome = Outcome::error(fault::unconvertible(error, Some(member)));
            let text = written(&outcome, &id).expect("error objects have no duplicate keys");
            (outcome, text)
        }
    }
}

/// The response object, or the member that cannot be represented in EDN, with the reason.
fn written(outcome: &Outcome, id: &str) -> Result<Vec<u8>, (&'static str, Error)> {
    if let Some(value) = outcome.as_edn() {
        return Ok(format!("{{:jsonrpc \"2.0\", :result {value}, :id {id}}}").into_bytes());
    }
    let (name, edn) = match outcome.as_result() {
        Ok(json) => ("result", of_json(json)),
        Err(error) => ("error", of_json(&error.to_json())),
    };
    let edn = edn.map_err(|error| (name, error))?;
    Ok(format!("{{:jsonrpc \"2.0\", :{name} {edn}, :id {id}}}").into_bytes())
}

/// The EDN text of an id, which is a string, a number or null. Numbers are copied, so that they keep all digits.
fn id_text(json: &[u8]) -> String {
    let is_number = json.first().is_some_and(|first| matches!(first, b'-' | b'0'..=b'9'));
    if is_number {
        return String::from_utf8_lossy(json).into_owned();
    }
    of_json(json).expect("an id is valid JSON")
}

/// Translates a whole reply from JSON to EDN, for a reply that does not belong to a call.
pub fn translate_reply(json: &[u8]) -> Vec<u8> {
    let failed = |error| {
        let error: ErrorObject = fault::unconvertible(error, None);
        let json = Outcome::error(error).into_response(b"null");
        of_json(&json).expect("error objects have no duplicate keys")
    };
    of_json(json).unwrap_or_else(failed).into_bytes()
}

/// Translates a message from JSON to EDN, for a message that is not a reply to a call.
pub fn from_json(json: &[u8]) -> Result<Vec<u8>, ErrorObject> {
    let edn = of_json(json).map_err(|error| fault::unconvertible(error, None))?;
    Ok(edn.into_bytes())
}

fn of_json(json: &[u8]) -> Result<String, Error> {
    json::to_edn(&String::from_utf8_lossy(json), &FromJson::default())
}

/// The outcome of a call with this result, which may be an EDN value.
pub fn outcome_of<T: Serialize + 'static>(value: T) -> Outcome {
    let mut value = Some(value);
    match (&mut value as &mut dyn Any).downcast_mut::<Option<Value>>().and_then(Option::take) {
        Some(value) => outcome(value),
        None => Outcome::result(&value),
    }
}

/// The outcome of a call with a result in EDN. A value that cannot be represented in JSON is an error, since every
/// protocol must be able to send the result.
pub fn outcome(value: Value) -> Outcome {
    Outcome::of_edn(value)
        .unwrap_or_else(|error| Outcome::error(fault::unconvertible(error, Some("result"))))
}
