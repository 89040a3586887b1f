use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A command on records: a native message, or a JSON-RPC call of the method `resource.command`.
///
/// Serialises to the native message.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Command {
    /// The name of the command: `update`.
    pub command: String,
    /// The resource of the records: `todo`, or `crm.todo`.
    pub resource: String,
    /// The record, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
    /// The record's fields, the filter criteria, or the page.
    pub payload: Map<String, Value>,
    /// The metadata of the command.
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

/// A record's id: text of 1 to 256 bytes. A number is its text: `0` and `"0"` are the same id.
#[derive(Debug, Clone)]
pub struct RecordId {
    text: String,
    /// Whether it came as a number, which operations of others may expect.
    is_number: bool,
}

impl RecordId {
    /// Most bytes of an id.
    pub const MAX_BYTES: usize = 256;

    /// An id, unless it is empty or over [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let is_number = false;
        (1..=Self::MAX_BYTES).contains(&text.len()).then_some(Self { text, is_number })
    }

    /// A new id: a UUID of version 7, so that ids are in the order in which they were made.
    #[cfg(feature = "resources")]
    #[must_use]
    pub fn generate() -> Self {
        Self { text: uuid::Uuid::now_v7().to_string(), is_number: false }
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A string's text, or the digits of a number, unchanged.
    pub(crate) fn of_json(json: &RawValue) -> Result<Self, String> {
        let is_number = matches!(json.get().as_bytes(), [b'-' | b'0'..=b'9', ..]);
        let text = if is_number {
            json.get().to_owned()
        } else {
            serde_json::from_str(json.get()).map_err(|_| "an id is a string or a number")?
        };
        let id = Self::new(text).ok_or_else(|| format!("an id has 1 to {} bytes", Self::MAX_BYTES));
        id.map(|id| Self { is_number, ..id })
    }

    /// As it came.
    pub(crate) fn as_json(&self) -> Box<RawValue> {
        let json =
            if self.is_number { self.text.clone() } else { Value::from(&*self.text).to_string() };
        RawValue::from_string(json)
            .expect("numbers are kept as they were read, and text is written")
    }
}

impl PartialEq for RecordId {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for RecordId {}

impl Hash for RecordId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for RecordId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// The name that a caller gives to a request, so that it acts once: text of 1 to 256 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct RequestId(String);

impl RequestId {
    /// Most bytes of an id.
    pub const MAX_BYTES: usize = 256;

    /// An id, unless it is empty or over [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (1..=Self::MAX_BYTES).contains(&text.len()).then_some(Self(text))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A string's text, or the digits of a number, unchanged.
    pub(crate) fn of_json(json: &RawValue) -> Result<Self, String> {
        let text = match json.get().as_bytes() {
            [b'-' | b'0'..=b'9', ..] => json.get().to_owned(),
            _ => {
                serde_json::from_str(json.get()).map_err(|_| "requestId is a string or a number")?
            }
        };
        Self::parse(text)
    }

    /// An id, or what is wrong with its text.
    pub(crate) fn parse(text: String) -> Result<Self, String> {
        Self::new(text).ok_or_else(|| format!("a requestId has 1 to {} bytes", Self::MAX_BYTES))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The metadata of a command: its origin and its conditions.
///
/// Serialises in camelCase; what its client sent besides is kept in `others`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metadata {
    /// The protocol that the command came in.
    pub protocol: Protocol,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'static str>,
    /// The id of the JSON-RPC request, unchanged. A notification has none, and neither has a native
    /// command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonrpc_id: Option<Box<RawValue>>,
    /// Whose the same request is, sent again: it is then answered as before, and acts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The version that the record must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
    /// All other members that were sent.
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

/// The protocol of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `{"command", "resource", …}`.
    Native,
    /// JSON-RPC 2.0.
    JsonRpc,
}
