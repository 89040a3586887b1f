//! Replies in EDN, beside those in JSON, which history keeps.

use trunkline_edn::{Error, Value, json};

use super::aside::Aside;
use super::fault;
use crate::error::ErrorObject;
use crate::outcome::Outcome;
use crate::rpc::Reply;

/// A reply in EDN, which is also known in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdnReply {
    pub(crate) json: Reply,
    pub(crate) text: Vec<u8>,
}

impl EdnReply {
    /// The same in JSON.
    #[must_use]
    pub fn json(&self) -> &Reply {
        &self.json
    }

    /// The EDN text.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// The response object to the call with this id, in EDN; with the outcome, which is another if that
/// has no EDN. `id` is JSON text.
pub(crate) fn response(outcome: Outcome, id: &[u8], aside: &Aside) -> (Outcome, Vec<u8>) {
    let id = aside.id().map_or_else(|| of_json(id).unwrap_or_default(), Value::to_string);
    match outcome_text(&outcome) {
        Ok(text) => (outcome, joined(&text, &id)),
        Err((member, error)) => {
            let outcome = Outcome::error(fault::unconvertible(error, Some(member)));
            // What is made here has EDN.
            let text = outcome_text(&outcome).unwrap_or_default();
            (outcome, joined(&text, &id))
        }
    }
}

fn joined(outcome: &str, id: &str) -> Vec<u8> {
    format!("{{:jsonrpc \"2.0\", {outcome}, :id {id}}}").into_bytes()
}

/// The member that tells the outcome; or which member has no EDN, and why.
fn outcome_text(outcome: &Outcome) -> Result<String, (&'static str, Error)> {
    if let Some(value) = outcome.as_edn() {
        return Ok(format!(":result {value}"));
    }
    let (name, json) = match outcome.as_result() {
        Ok(json) => ("result", of_json(json)),
        Err(error) => ("error", of_json(&error.to_json())),
    };
    json.map(|text| format!(":{name} {text}")).map_err(|error| (name, error))
}

/// A whole reply in EDN that was written in JSON: one that goes with no call.
pub(crate) fn translated(json: &[u8]) -> Vec<u8> {
    let failed = |error| {
        let error: ErrorObject = fault::unconvertible(error, None);
        let json = Outcome::error(error).into_response(b"null");
        of_json(&json).unwrap_or_default()
    };
    of_json(json).unwrap_or_else(failed).into_bytes()
}

fn of_json(json: &[u8]) -> Result<String, Error> {
    // What is written here is text.
    let text = String::from_utf8_lossy(json);
    json::from_str(&text).map(|value| value.to_string())
}
