//! Response objects and arrays of them.

use crate::format::Encoding;
#[cfg(feature = "edn")]
use crate::format::Format;
#[cfg(feature = "edn")]
use crate::format::edn;
use crate::outcome::{ID, Outcome, RESULT};

/// The response to one entry.
pub struct Response {
    pub(crate) json: Vec<u8>,
    pub(crate) code: Option<i64>,
    /// The response in EDN, if requested.
    #[cfg(feature = "edn")]
    pub(super) edn: Option<Vec<u8>>,
}

impl Response {
    /// The response for the request with this id, in the format of `encoding`.
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

    /// The size in bytes, as sent.
    pub(crate) fn len(&self) -> usize {
        #[cfg(feature = "edn")]
        if let Some(edn) = &self.edn {
            return edn.len();
        }
        self.json.len()
    }

    /// The memory used by all formats, in bytes.
    pub(crate) fn capacity(&self) -> usize {
        #[cfg(feature = "edn")]
        if let Some(edn) = &self.edn {
            return edn.capacity() + self.json.capacity();
        }
        self.json.capacity()
    }
}

/// An array of responses.
#[derive(Default)]
pub struct ResponseArray {
    pub(super) json: Vec<u8>,
    #[cfg(feature = "edn")]
    pub(super) edn: Vec<u8>,
}

impl ResponseArray {
    /// An empty array with capacity for the responses to this number of entries.
    pub fn of(entries: usize) -> Self {
        let mut joined = Self::default();
        joined.json.reserve(entries * TYPICAL);
        joined
    }

    /// The memory used by the responses, in bytes.
    pub(crate) fn capacity(&self) -> usize {
        #[cfg(feature = "edn")]
        return self.json.capacity() + self.edn.capacity();
        #[cfg(not(feature = "edn"))]
        self.json.capacity()
    }

    /// The bytes by which the buffers must grow to append a response, including spare capacity for later ones.
    pub(crate) fn growth(&self, response: &Response) -> usize {
        let json = growth(&self.json, &response.json);
        #[cfg(feature = "edn")]
        return json + response.edn.as_ref().map_or(0, |edn| growth(&self.edn, edn));
        #[cfg(not(feature = "edn"))]
        json
    }

    /// Grows the buffers by [`growth`](Self::growth).
    pub(crate) fn grow(&mut self, response: &Response) {
        grow(&mut self.json, &response.json);
        #[cfg(feature = "edn")]
        if let Some(edn) = &response.edn {
            grow(&mut self.edn, edn);
        }
    }

    /// Appends a result, if its response has at most `limit` bytes and fits into the spare capacity. Returns the text
    /// of the response.
    pub(crate) fn push_result(&mut self, result: &[u8], id: &[u8], limit: usize) -> Option<&[u8]> {
        let json = &mut self.json;
        let len = RESULT.len() + result.len() + ID.len() + id.len() + 1;
        if len > limit || len + DELIMITERS > json.capacity() - json.len() {
            return None;
        }
        json.push(if json.is_empty() { b'[' } else { b',' });
        let start = json.len();
        for part in [RESULT, result, ID, id, b"}"] {
            json.extend_from_slice(part);
        }
        Some(&json[start..])
    }

    /// Appends a response. Allocates no spare capacity.
    pub fn push(&mut self, response: &Response) {
        self.json.reserve_exact(response.json.len() + DELIMITERS);
        self.json.push(if self.json.is_empty() { b'[' } else { b',' });
        self.json.extend_from_slice(&response.json);
        #[cfg(feature = "edn")]
        if let Some(edn) = &response.edn {
            self.edn.reserve_exact(edn.len() + DELIMITERS);
            self.edn.push(if self.edn.is_empty() { b'[' } else { b' ' });
            self.edn.extend_from_slice(edn);
        }
    }
}

/// The size of a typical response, in bytes.
const TYPICAL: usize = 64;
/// The size of the delimiters before and after a response, in bytes.
const DELIMITERS: usize = 2;

/// The bytes by which a buffer must grow to append a text: 0, or the missing ones plus half of the new length.
fn growth(buffer: &Vec<u8>, text: &[u8]) -> usize {
    let needed = buffer.len() + text.len() + DELIMITERS;
    match needed.checked_sub(buffer.capacity()) {
        None | Some(0) => 0,
        Some(missing) => missing + needed / 2,
    }
}

fn grow(buffer: &mut Vec<u8>, text: &[u8]) {
    let growth = growth(buffer, text);
    buffer.reserve_exact(buffer.capacity() - buffer.len() + growth);
}
