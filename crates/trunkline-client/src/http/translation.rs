//! Conversion of messages to EDN and of replies from EDN.

use bytes::Bytes;
use trunkline_edn::Value;
use trunkline_edn::json::{self, FromJson};

use crate::error::ProtocolError;
use crate::response::{self, malformed};

/// Converts a message to EDN.
pub(super) fn to_edn(message: &[u8]) -> Result<Bytes, String> {
    let text = std::str::from_utf8(message).map_err(|error| error.to_string())?;
    let edn = json::to_edn(text, &FromJson::default()).map_err(|error| error.to_string())?;
    Ok(edn.into())
}

/// Parses a reply in EDN.
pub(super) fn read(reply: &[u8]) -> Result<Value, ProtocolError> {
    let Ok(text) = std::str::from_utf8(reply) else {
        return Err(malformed("not UTF-8", reply));
    };
    text.parse().map_err(|error| malformed(format!("invalid EDN: {error}"), reply))
}

/// Converts a reply in JSON to EDN.
pub(super) fn of_json(reply: &[u8]) -> Result<Value, ProtocolError> {
    let Ok(text) = std::str::from_utf8(reply) else {
        return Err(malformed("not UTF-8", reply));
    };
    json::from_str(text)
        .map_err(|error| malformed(format!("not convertible to EDN: {error}"), reply))
}

/// Whether a reply contains an error, also as a member of a batch.
pub(super) fn is_error(reply: &Value) -> bool {
    json::to_string(reply).is_ok_and(|json| response::is_error(&Bytes::from(json)))
}

/// Converts a reply in EDN to JSON.
pub(super) fn to_json(reply: &[u8]) -> Result<Bytes, ProtocolError> {
    let json = json::to_string(&read(reply)?);
    json.map(Bytes::from)
        .map_err(|error| malformed(format!("not convertible to JSON: {error}"), reply))
}
