//! Requests to clients of the stateless era, which a client finds in a result and answers with a further request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// Requests for input, by key.
pub(crate) type InputRequests = BTreeMap<String, InputRequest>;

/// A request for input.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InputRequest {
    /// The method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The params.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Box<RawValue>>,
}

impl InputRequest {
    pub(crate) fn new(method: &str, params: &impl Serialize) -> Self {
        Self { method: method.to_owned(), params: Some(raw(params)) }
    }
}

/// The JSON text of a value of the protocol.
pub(crate) fn raw(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    to_raw_value(value).expect("text and JSON serialise into memory")
}
