//! Conversion of messages in EDN to JSON and back. History records messages in JSON.

use bytes::Bytes;
use trunkline_core::format::{Codec, CodecError, SentRequest};
use trunkline_core::limits::calls::Limits;
use trunkline_core::outcome::{Native, Outcome};

use super::fault::{not_text, unconvertible, unreadable};
use super::request::transcribe;
use crate::error::Error;
use crate::json::{self, FromJson};
use crate::text::{Limits as TextLimits, read_with};
use crate::value::Value;

pub(super) struct EdnCodec;

impl Codec for EdnCodec {
    fn media_type(&self) -> &'static str {
        "application/edn"
    }

    /// JSON is always UTF-8. EDN has no such rule, and some clients read text without a charset as ISO 8859-1.
    fn content_type(&self) -> &'static str {
        "application/edn; charset=utf-8"
    }

    fn read(&self, message: &[u8], limits: &Limits) -> Result<Bytes, CodecError> {
        let value = read(message, limits)?;
        let json = json::to_string(&value);
        json.map(Bytes::from).map_err(|error| inconvertible("JSON", error, None))
    }

    fn write(&self, json: &[u8]) -> Result<Vec<u8>, CodecError> {
        let edn = of_json(json).map_err(|error| inconvertible("EDN", error, None))?;
        Ok(edn.into_bytes())
    }

    fn read_requests(
        &self,
        body: &[u8],
        limits: &Limits,
    ) -> Result<(Bytes, Vec<SentRequest>), CodecError> {
        Ok(transcribe(read(body, limits)?, limits.batch_requests))
    }

    fn write_response(
        &self,
        outcome: &Outcome,
        id: &[u8],
        sent: Option<&Native>,
    ) -> Result<Vec<u8>, CodecError> {
        let id = match sent.and_then(|sent| sent.downcast_ref::<Value>()) {
            // An invalid id is not echoed.
            Some(sent) if id != b"null" => sent.to_string(),
            _ => id_text(id)?,
        };
        let (name, edn) = match (outcome.as_result(), outcome.native::<Value>()) {
            (Ok(_), Some(value)) => ("result", Ok(value.to_string())),
            (Ok(json), None) => ("result", of_json(json)),
            (Err(error), _) => {
                let mut json = Vec::new();
                error.write_to(&mut json);
                ("error", of_json(&json))
            }
        };
        let edn = edn.map_err(|error| inconvertible("EDN", error, Some(name)))?;
        Ok(format!("{{:jsonrpc \"2.0\", :{name} {edn}, :id {id}}}").into_bytes())
    }

    fn append_response(&self, array: &mut Vec<u8>, response: &[u8]) {
        match array.last_mut() {
            Some(end) => *end = b' ',
            None => array.push(b'['),
        }
        array.extend_from_slice(response);
        array.push(b']');
    }

    /// Whether the line contains only white space, which includes commas, or a comment.
    fn is_blank(&self, line: &[u8]) -> bool {
        let is_space = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
        match line.iter().position(|byte| !is_space(byte)) {
            // A carriage return also ends a comment.
            Some(start) => line[start] == b';' && !line[start..].contains(&b'\r'),
            None => true,
        }
    }
}

fn read(body: &[u8], limits: &Limits) -> Result<Value, CodecError> {
    let text = std::str::from_utf8(body)
        .map_err(|error| not_text("not UTF-8", "the body is not UTF-8", error.valid_up_to()))?;
    // The EDN reader would read it as a symbol.
    if text.starts_with('\u{feff}') {
        let reason = "the body starts with a byte-order mark";
        return Err(not_text(reason, reason, 0));
    }
    let limits = TextLimits { depth: limits.depth, ..TextLimits::default() };
    read_with(text, &limits).map_err(|error| unreadable(&error))
}

fn inconvertible(to: &str, error: Error, member: Option<&str>) -> CodecError {
    let text = format!("not convertible to {to}: {error}");
    CodecError::new(text, unconvertible(error, member))
}

fn of_json(json: &[u8]) -> Result<String, Error> {
    json::to_edn(&String::from_utf8_lossy(json), &FromJson::default())
}

/// The EDN text of an id, which is a string, a number or null. Numbers are copied, so that they keep all digits.
fn id_text(json: &[u8]) -> Result<String, CodecError> {
    let is_number = json.first().is_some_and(|first| matches!(first, b'-' | b'0'..=b'9'));
    if is_number {
        return Ok(String::from_utf8_lossy(json).into_owned());
    }
    of_json(json).map_err(|error| inconvertible("EDN", error, Some("id")))
}
