//! Replies to message bodies.

use crate::error::ErrorObject;
use crate::format::{Encoding, Format};
use crate::id::Id;
use crate::outcome::{ID, Outcome, RESULT};

/// The reply to a message body: a response object, an array of them, or nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The JSON text. Empty without a reply.
    json: Vec<u8>,
    /// The code, if the reply is a single error.
    code: Option<i64>,
    /// The text in another format.
    other: Option<Box<(Format, Vec<u8>)>>,
}

/// The size of a typical response, in bytes.
const TYPICAL: usize = 64;
/// The size of the delimiters around a response of an array, in bytes.
const DELIMITERS: usize = 2;

impl Reply {
    /// No reply: the body contained only notifications.
    #[inline]
    #[must_use]
    pub const fn none() -> Self {
        Self { json: Vec::new(), code: None, other: None }
    }

    /// The response for the call with this id.
    #[inline]
    #[must_use]
    pub fn of(outcome: Outcome, id: &Id) -> Self {
        Self::encoded(outcome, id.as_raw().as_bytes(), None)
    }

    /// The response for the call with this id, which is JSON text, in the format of `encoding`. An outcome that cannot be
    /// represented in it is -32603, in JSON, too.
    #[inline]
    pub fn encoded(outcome: Outcome, id: &[u8], encoding: Option<&Encoding>) -> Self {
        if let Some((encoding, Format::Other(codec))) = encoding.map(|one| (one, one.reply())) {
            let (outcome, text) = match codec.write_response(&outcome, id, encoding.id()) {
                Ok(text) => (outcome, text),
                Err(error) => {
                    let outcome = Outcome::error(error.into());
                    let text = codec.write_response(&outcome, id, encoding.id());
                    (outcome, text.unwrap_or_default())
                }
            };
            let (code, other) = (outcome.code(), Some(Box::new((encoding.reply(), text))));
            return Self { json: outcome.into_response(id), code, other };
        }
        let code = outcome.code();
        Self { json: outcome.into_response(id), code, other: None }
    }

    /// An error response to an invalid body. JSON-RPC 2.0 requires the id `null` if it is unknown (section 5);
    /// protocols on top of it require that it is absent.
    #[must_use]
    pub fn error(error: ErrorObject, id: Option<&Id>) -> Self {
        let code = Some(error.code());
        let outcome = Outcome::error(error);
        let json = match id {
            Some(id) => outcome.into_response(id.as_raw().as_bytes()),
            None => outcome.into_response_without_id(),
        };
        Self { json, code, other: None }
    }

    /// An array of responses. No reply without responses.
    #[must_use]
    pub fn array(responses: impl IntoIterator<Item = Self>) -> Self {
        let mut array = Self::none();
        responses.into_iter().for_each(|response| array.push(&response));
        array
    }

    /// Whether nothing is sent.
    #[inline]
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.json.is_empty()
    }

    /// The code, if the reply is a single error.
    #[inline]
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        self.code
    }

    /// The format of the reply.
    #[inline]
    #[must_use]
    pub fn format(&self) -> Format {
        self.other.as_ref().map_or(Format::Json, |other| other.0)
    }

    /// The JSON text of the reply, for any format.
    #[inline]
    #[must_use]
    pub fn json(&self) -> Option<&[u8]> {
        (!self.is_none()).then_some(&self.json)
    }

    /// The size of the text in bytes.
    #[inline]
    #[must_use]
    pub fn text_len(&self) -> usize {
        self.other.as_ref().map_or(self.json.len(), |other| other.1.len())
    }

    /// The text of the reply in its [format](Self::format). `None` without a reply.
    #[inline]
    #[must_use]
    pub fn into_text(self) -> Option<Vec<u8>> {
        match self.other {
            Some(other) => Some(other.1),
            None => self.into_json(),
        }
    }

    /// The JSON text of the reply, for any format. `None` without a reply.
    #[inline]
    #[must_use]
    pub fn into_json(self) -> Option<Vec<u8>> {
        (!self.is_none()).then_some(self.json)
    }

    /// Converts the reply to this format, through JSON. A reply that already has the format is unchanged.
    #[must_use]
    pub fn into_format(self, format: Format) -> Self {
        if self.format() == format || self.is_none() {
            return self;
        }
        let Format::Other(codec) = format else { return Self { other: None, ..self } };
        let text = codec.write(&self.json).or_else(|error| {
            codec.write(&Outcome::error(error.into()).into_response(Id::NULL.as_raw().as_bytes()))
        });
        Self { other: Some(Box::new((format, text.unwrap_or_default()))), ..self }
    }

    /// An empty array with capacity for the responses to this number of requests.
    pub(crate) fn array_for(requests: usize) -> Self {
        Self { json: Vec::with_capacity(requests * TYPICAL), ..Self::none() }
    }

    /// The memory used by the text in all formats, in bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.json.capacity() + self.other.as_ref().map_or(0, |other| other.1.capacity())
    }

    /// The bytes by which the buffers of an array must grow to append a response, including spare capacity for later
    /// ones.
    pub(crate) fn growth(&self, response: &Self) -> usize {
        let (empty, array) = (Vec::new(), self.other.as_ref().map(|other| &other.1));
        let other = response.other.as_ref();
        let other = other.map_or(0, |other| growth(array.unwrap_or(&empty), &other.1));
        growth(&self.json, &response.json) + other
    }

    /// Grows the buffers by [`growth`](Self::growth).
    pub(crate) fn grow(&mut self, response: &Self) {
        grow(&mut self.json, &response.json);
        if let Some((format, text)) = response.other.as_deref() {
            grow(self.text_in(*format), text);
        }
    }

    /// Appends a result to an array, if its response has at most `limit` bytes and fits into the spare capacity. Returns
    /// the text of the response.
    pub(crate) fn push_result(&mut self, result: &[u8], id: &[u8], limit: usize) -> Option<&[u8]> {
        let json = &mut self.json;
        let len = RESULT.len() + result.len() + ID.len() + id.len() + 1;
        if len > limit || len + DELIMITERS > json.capacity() - json.len() {
            return None;
        }
        open(json);
        let start = json.len();
        for part in [RESULT, result, ID, id, b"}]"] {
            json.extend_from_slice(part);
        }
        Some(&json[start..json.len() - 1])
    }

    /// Appends a response to an array. Allocates no spare capacity.
    pub(crate) fn push(&mut self, response: &Self) {
        self.json.reserve_exact(response.json.len() + DELIMITERS);
        open(&mut self.json);
        self.json.extend_from_slice(&response.json);
        self.json.push(b']');
        if let Some((format @ Format::Other(codec), text)) = response.other.as_deref() {
            let array = self.text_in(*format);
            array.reserve_exact(text.len() + DELIMITERS);
            codec.append_response(array, text);
        }
    }

    /// The text of an array in another format.
    fn text_in(&mut self, format: Format) -> &mut Vec<u8> {
        &mut self.other.get_or_insert_with(|| Box::new((format, Vec::new()))).1
    }
}

/// Begins the next element of an array.
fn open(array: &mut Vec<u8>) {
    match array.last_mut() {
        Some(end) => *end = b',',
        None => array.push(b'['),
    }
}

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
