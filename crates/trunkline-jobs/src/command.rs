use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What to do with which record: what natively is the message, and in JSON-RPC a call of the method
/// `resource.command`.
///
/// Serialises to the native message.
#[derive(Debug, Clone, Serialize)]
pub struct Command {
    /// What to do: `update`.
    pub command: String,
    /// With records of which resource: `todo`, or `crm.todo`.
    pub resource: String,
    /// With which record, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
    /// The record's fields, what to filter by, or which page is wanted.
    pub payload: Map<String, Value>,
    /// What is known of the command itself.
    pub metadata: Metadata,
}

impl Command {
    /// A command without payload.
    pub fn new(resource: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            resource: resource.into(),
            id: None,
            payload: Map::new(),
            metadata: Metadata::default(),
        }
    }
}

/// A record's id: text of at least one character. A number is kept as its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RecordId(String);

impl RecordId {
    /// Most bytes of an id.
    pub const MAX_BYTES: usize = 256;

    /// An id, unless it is empty or over [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (1..=Self::MAX_BYTES).contains(&text.len()).then_some(Self(text))
    }

    /// A new id: a UUID of version 7, so that ids are in the order in which they were made.
    #[must_use]
    pub fn generate() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RecordId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        let id = match raw.as_bytes() {
            [b'"', ..] => serde_json::from_str(raw).map_err(D::Error::custom)?,
            [b'-' | b'0'..=b'9', ..] => raw.to_owned(),
            _ => return Err(D::Error::custom("an id is a string or a number")),
        };
        let too_long = format!("an id has 1 to {} bytes", Self::MAX_BYTES);
        Self::new(id).ok_or_else(|| D::Error::custom(too_long))
    }
}

/// What is known of a command besides what it says.
///
/// Serialises in camelCase; what its client sent besides is kept in `others`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The protocol that the command came in.
    pub protocol: Protocol,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'static str>,
    /// The id of the JSON-RPC request, as it was sent. A notification has none, and neither has a native
    /// command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonrpc_id: Option<Box<RawValue>>,
    /// Whose the same request is, sent again: it is then answered as before, and acts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The version that the record must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
    /// Whatever else was sent along.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Default for Metadata {
    /// That of a native command.
    fn default() -> Self {
        Self {
            protocol: Protocol::Native,
            version: None,
            jsonrpc_id: None,
            request_id: None,
            if_version: None,
            others: Map::new(),
        }
    }
}

/// What a body is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `{"command", "resource", …}`.
    Native,
    /// JSON-RPC 2.0.
    JsonRpc,
}
