use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The requests of a result or a task, by key.
pub(super) type InputRequests = BTreeMap<String, InputRequest>;

/// The answers to requests, by key.
pub(super) type InputResponses = BTreeMap<String, Box<RawValue>>;

/// A request for input.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct InputRequest {
    /// The method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The params, as received.
    pub params: Option<Box<RawValue>>,
}
