//! Messages of JSON in EDN, and replies in EDN as JSON.

use bytes::Bytes;
use trunkline_edn::Value;
use trunkline_edn::json::{self, FromJson};

use crate::error::ProtocolError;
use crate::response::{self, malformed};

/// A message in EDN; or why it cannot be written so.
pub(super) fn to_edn(message: &[u8]) -> Result<Bytes, String> {
    let text = std::str::from_utf8(message).map_err(|error| error.to_string())?;
    let edn = json::to_edn(text, &FromJson::default()).map_err(|error| error.to_string())?;
    Ok(edn.into())
}

/// Parses a reply in EDN.
pub(super) fn read(reply: &[u8]) -> Result<Value, ProtocolError> {
    let Ok(text) = std::str::from_utf8(reply) else {
        return Err(malformed("it is not UTF-8", reply));
    };
    text.parse().map_err(|error| malformed(format!("it is no EDN: {error}"), reply))
}

/// Converts a reply in JSON to EDN.
pub(super) fn of_json(reply: &[u8]) -> Result<Value, ProtocolError> {
    let Ok(text) = std::str::from_utf8(reply) else {
        return Err(malformed("it is not UTF-8", reply));
    };
    json::from_str(text).map_err(|error| malformed(format!("it has no EDN: {error}"), reply))
}

/// Whether a reply answers with an error, be it to one call of a batch.
pub(super) fn is_error(reply: &Value) -> bool {
    json::to_string(reply).is_ok_and(|json| response::is_error(&Bytes::from(json)))
}

/// A reply as JSON.
pub(super) fn to_json(reply: &[u8]) -> Result<Bytes, ProtocolError> {
    let json = json::to_string(&read(reply)?);
    json.map(Bytes::from).map_err(|error| malformed(format!("it has no JSON: {error}"), reply))
}
