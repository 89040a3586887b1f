//! The capabilities that the client of a call declares.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use trunkline::{Call, ErrorObject, FromCall, RpcError};

use crate::protocol::error_code::MISSING_CAPABILITY;
use crate::protocol::extension;

/// Extracts the capabilities that the client has declared: in its request (2026-07-28), or when it opened its session
/// or channel (earlier revisions). Empty for other protocols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientCapabilities(Arc<Map<String, Value>>);

/// The maximum length of capabilities in bytes. Sessions store them.
const MAX_BYTES: usize = 16 << 10;

pub(crate) const TOO_LONG: &str = "client capabilities must have at most 16 KiB";

impl ClientCapabilities {
    /// Checks that the client has declared `capability`: `sampling`, `elicitation`, `roots`.
    ///
    /// # Errors
    /// [`MissingCapability`], which is also the error of the call.
    pub fn require(&self, capability: &str) -> Result<(), MissingCapability> {
        if self.has(capability) {
            return Ok(());
        }
        Err(MissingCapability { capability: capability.to_owned() })
    }

    /// Whether the client has declared `capability`, or a part of one: `elicitation.url`, `sampling.tools`.
    #[must_use]
    pub fn has(&self, capability: &str) -> bool {
        let mut names = capability.split('.');
        let first = names.next().and_then(|name| self.0.get(name));
        names.try_fold(first, |value, name| Some(value?.get(name))).flatten().is_some()
    }

    /// All declared capabilities.
    #[must_use]
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The capabilities in the JSON text of an object. `None` if it is too long.
    pub(crate) fn parse(json: &[u8]) -> Option<Self> {
        let is_short = json.len() <= MAX_BYTES;
        is_short.then(|| Self(Arc::new(serde_json::from_slice(json).unwrap_or_default())))
    }

    /// Whether the client supports tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        let extensions = self.0.get("extensions");
        extensions.is_some_and(|extensions| extensions.get(extension::TASKS).is_some())
    }

    /// Whether the client accepts a form (elicitation without modes, before 2025-11-25, means forms).
    pub(crate) fn has_forms(&self) -> bool {
        let modes = self.0.get("elicitation").and_then(Value::as_object);
        modes.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
    }
}

impl From<Map<String, Value>> for ClientCapabilities {
    fn from(capabilities: Map<String, Value>) -> Self {
        Self(Arc::new(capabilities))
    }
}

impl<S> FromCall<S> for ClientCapabilities {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(call.extensions().get::<Self>().cloned().unwrap_or_default())
    }
}

/// The client lacks a capability that a tool requires: error -32021.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this operation requires the client capability `{capability}`")]
pub struct MissingCapability {
    /// The capability's name.
    pub capability: String,
}

impl RpcError for MissingCapability {
    fn into_error_object(self) -> ErrorObject {
        // A part of a capability is nested: `elicitation.url` is `{"elicitation": {"url": {}}}`.
        let nest = |inner, name: &str| json!({ name: inner });
        let required = self.capability.rsplit('.').fold(json!({}), nest);
        missing(&required)
    }

    fn from_error_object(error: &ErrorObject) -> Option<Self> {
        let data: Value = serde_json::from_str(error.data()?.get()).ok()?;
        let capability = data.get("requiredCapabilities")?.as_object()?.keys().next()?.clone();
        (error.code() == MISSING_CAPABILITY).then_some(Self { capability })
    }
}

/// The error of a client that does not support tasks.
pub(crate) fn missing_tasks() -> ErrorObject {
    missing(&json!({ "extensions": { extension::TASKS: {} } }))
}

fn missing(required: &Value) -> ErrorObject {
    let data = json!({ "requiredCapabilities": required });
    ErrorObject::new(MISSING_CAPABILITY, "Missing required client capability").with_data(&data)
}
