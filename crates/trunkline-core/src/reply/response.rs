//! What entries are answered with, and all of it as one array.

use crate::format::Encoding;
#[cfg(feature = "edn")]
use crate::format::Format;
#[cfg(feature = "edn")]
use crate::format::edn;
use crate::outcome::{ID, Outcome, RESULT};

/// What one entry is answered with.
pub struct Response {
    pub(crate) json: Vec<u8>,
    pub(crate) code: Option<i64>,
    /// The same in EDN, if that is wanted.
    #[cfg(feature = "edn")]
    pub(super) edn: Option<Vec<u8>>,
}

impl Response {
    /// The response to the request with this id, in the format of `encoding`.
    pub fn of(outcome: Outcome, id: &[u8], encoding: Option<&Encoding>) -> Self {
        #[cfg(feature = "edn")]
        if let Some(encoding) = encoding.filter(|encoding| encoding.reply() == Format::Edn) {
            let (outcome, edn) = edn::response(outcome, id, encoding);
            let code = outcome.code();
            return Self { json: outcome.into_response(id), code, edn: Some(edn) };
        }
        #[cfg(not(feature = "edn"))]
        let _ = encoding;
        let code = outcome.code();
        Self {
            json: outcome.into_response(id),
            code,
            #[cfg(feature = "edn")]
            edn: None,
        }
    }

    /// How many bytes are sent.
    pub(crate) fn len(&self) -> usize {
        #[cfg(feature = "edn")]
        if let Some(edn) = &self.edn {
            return edn.len();
        }
        self.json.len()
    }

    /// The bytes that it occupies in all of its formats.
    pub(crate) fn capacity(&self) -> usize {
        #[cfg(feature = "edn")]
        if let Some(edn) = &self.edn {
            return edn.capacity() + self.json.capacity();
        }
        self.json.capacity()
    }
}

/// Responses as one array.
#[derive(Default)]
pub struct ResponseArray {
    pub(super) json: Vec<u8>,
    #[cfg(feature = "edn")]
    pub(super) edn: Vec<u8>,
}

impl ResponseArray {
    /// A buffer for the responses to this number of entries.
    pub fn of(entries: usize) -> Self {
        let mut joined = Self::default();
        joined.json.reserve(entries * USUAL);
        joined
    }

    /// The bytes that the responses occupy.
    pub(crate) fn capacity(&self) -> usize {
        #[cfg(feature = "edn")]
        return self.json.capacity() + self.edn.capacity();
        #[cfg(not(feature = "edn"))]
        self.json.capacity()
    }

    /// The bytes by which to grow before another response is appended, with spare space for later ones.
    pub(crate) fn growth(&self, response: &Response) -> usize {
        let json = growth(&self.json, &response.json);
        #[cfg(feature = "edn")]
        return json + response.edn.as_ref().map_or(0, |edn| growth(&self.edn, edn));
        #[cfg(not(feature = "edn"))]
        json
    }

    /// Grows by that.
    pub(crate) fn grow(&mut self, response: &Response) {
        grow(&mut self.json, &response.json);
        #[cfg(feature = "edn")]
        if let Some(edn) = &response.edn {
            grow(&mut self.edn, edn);
        }
    }

    /// Appends the response with a result if it has at most `limit` bytes and the spare space is enough. Returns its
    /// text.
    pub(crate) fn push_result(&mut self, result: &[u8], id: &[u8], limit: usize) -> Option<&[u8]> {
        let json = &mut self.json;
        let len = RESULT.len() + result.len() + ID.len() + id.len() + 1;
        if len > limit || len + AROUND > json.capacity() - json.len() {
            return None;
        }
        json.push(if json.is_empty() { b'[' } else { b',' });
        let start = json.len();
        for part in [RESULT, result, ID, id, b"}"] {
            json.extend_from_slice(part);
        }
        Some(&json[start..])
    }

    /// Appends a response. Grows by no more than it needs.
    pub fn push(&mut self, response: &Response) {
        self.json.reserve_exact(response.json.len() + AROUND);
        self.json.push(if self.json.is_empty() { b'[' } else { b',' });
        self.json.extend_from_slice(&response.json);
        #[cfg(feature = "edn")]
        if let Some(edn) = &response.edn {
            self.edn.reserve_exact(edn.len() + AROUND);
            self.edn.push(if self.edn.is_empty() { b'[' } else { b' ' });
            self.edn.extend_from_slice(edn);
        }
    }
}

/// The bytes of a usual response.
const USUAL: usize = 64;
/// The bytes before a response and after the last one.
const AROUND: usize = 2;

/// The bytes by which a buffer has to grow for a text: 0, or the missing ones and half of the new length.
fn growth(buffer: &Vec<u8>, text: &[u8]) -> usize {
    let needed = buffer.len() + text.len() + AROUND;
    match needed.checked_sub(buffer.capacity()) {
        None | Some(0) => 0,
        Some(missing) => missing + needed / 2,
    }
}

fn grow(buffer: &mut Vec<u8>, text: &[u8]) {
    let growth = growth(buffer, text);
    buffer.reserve_exact(buffer.capacity() - buffer.len() + growth);
}
