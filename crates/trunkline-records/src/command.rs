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
    /// The type of the records: `todo`, or `crm.todo`.
    pub resource: String,
    /// The id of the record, if the command addresses one.
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

/// The id of a record: text of 1 to 256 bytes. A number is converted to text: `0` and `"0"` are the same id.
#[derive(Debug, Clone)]
pub struct RecordId {
    text: String,
    /// Whether the client sent a number, which operations of other crates may expect.
    is_number: bool,
}

impl RecordId {
    /// Maximum length of an id in bytes.
    pub const MAX_BYTES: usize = 256;

    /// Creates an id. Returns `None` if the text is empty or longer than [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let is_number = false;
        (1..=Self::MAX_BYTES).contains(&text.len()).then_some(Self { text, is_number })
    }

    /// Generates an id: a version 7 UUID, so that ids sort by creation time.
    #[cfg(feature = "records")]
    #[must_use]
    pub fn generate() -> Self {
        Self { text: uuid::Uuid::now_v7().to_string(), is_number: false }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text of a JSON string, or the digits of a number, unchanged.
    pub(crate) fn of_json(json: &RawValue) -> Result<Self, String> {
        let is_number = matches!(json.get().as_bytes(), [b'-' | b'0'..=b'9', ..]);
        let text = if is_number {
            json.get().to_owned()
        } else {
            serde_json::from_str(json.get()).map_err(|_| "an id must be a string or a number")?
        };
        let id = Self::new(text)
            .ok_or_else(|| format!("an id must have 1 to {} bytes", Self::MAX_BYTES));
        id.map(|id| Self { is_number, ..id })
    }

    /// The JSON value that the client sent.
    pub(crate) fn as_json(&self) -> Box<RawValue> {
        let json =
            if self.is_number { self.text.clone() } else { Value::from(&*self.text).to_string() };
        RawValue::from_string(json)
            .expect("the text of a number is stored unchanged, and strings are serialised")
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

/// A caller's id of a request, which makes the request idempotent: text of 1 to 256 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct RequestId(String);

impl RequestId {
    /// Maximum length of an id in bytes.
    pub const MAX_BYTES: usize = 256;

    /// Creates an id. Returns `None` if the text is empty or longer than [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (1..=Self::MAX_BYTES).contains(&text.len()).then_some(Self(text))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text of a JSON string, or the digits of a number, unchanged.
    pub(crate) fn of_json(json: &RawValue) -> Result<Self, String> {
        let text = match json.get().as_bytes() {
            [b'-' | b'0'..=b'9', ..] => json.get().to_owned(),
            _ => serde_json::from_str(json.get())
                .map_err(|_| "requestId must be a string or a number")?,
        };
        Self::parse(text)
    }

    /// Creates an id, or returns the error message.
    pub(crate) fn parse(text: String) -> Result<Self, String> {
        Self::new(text)
            .ok_or_else(|| format!("a requestId must have 1 to {} bytes", Self::MAX_BYTES))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The metadata of a command: its origin and its conditions.
///
/// Serialises in camelCase. All other members that the client sent are in `others`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metadata {
    /// The protocol of the command.
    pub protocol: Protocol,
    /// The version of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'static str>,
    /// The id of the JSON-RPC request, unchanged. Missing for notifications and native commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jsonrpc_id: Option<Box<RawValue>>,
    /// Identifies repetitions of the same request, which get the same reply and have no further effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The expected version of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
    /// All other members that were sent.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Default for Metadata {
    /// The metadata of a native command.
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

/// The protocol of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// `{"command", "resource", …}`.
    Native,
    /// JSON-RPC 2.0.
    JsonRpc,
}
