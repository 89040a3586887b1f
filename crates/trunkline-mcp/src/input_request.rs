//! Requests to clients of the stateless era, which a client finds in a result and answers with a further request.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// Requests by key.
pub(crate) type InputRequests = BTreeMap<String, InputRequest>;

/// A request to a client.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InputRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}
