//! The capabilities that the client of a call declares.

use serde_json::{Map, Value, json};
use trunkline::{Call, ErrorObject, FromCall, RpcError};

use crate::protocol::error_code::MISSING_CAPABILITY;

/// Extracts the capabilities that the client has declared in its request (2026-07-28). Empty for other revisions
/// and protocols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientCapabilities(pub Map<String, Value>);

impl ClientCapabilities {
    /// Checks that the client has declared `capability`: `sampling`, `elicitation`, `roots`.
    ///
    /// # Errors
    /// [`MissingCapability`], which is also the error of the call.
    pub fn require(&self, capability: &str) -> Result<(), MissingCapability> {
        if self.0.contains_key(capability) {
            return Ok(());
        }
        Err(MissingCapability { capability: capability.to_owned() })
    }
}

impl<S> FromCall<S> for ClientCapabilities {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        Ok(call.extensions().get::<Self>().cloned().unwrap_or_default())
    }
}

/// The client lacks a capability that a tool requires: error -32021.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this tool requires the client capability `{capability}`")]
pub struct MissingCapability {
    /// The capability's name.
    pub capability: String,
}

impl RpcError for MissingCapability {
    fn into_error_object(self) -> ErrorObject {
        let data = json!({ "requiredCapabilities": { &*self.capability: {} } });
        ErrorObject::new(MISSING_CAPABILITY, "Missing required client capability").with_data(&data)
    }

    fn from_error_object(error: &ErrorObject) -> Option<Self> {
        let data: Value = serde_json::from_str(error.data()?.get()).ok()?;
        let capability = data.get("requiredCapabilities")?.as_object()?.keys().next()?.clone();
        (error.code() == MISSING_CAPABILITY).then_some(Self { capability })
    }
}
