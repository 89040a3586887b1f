use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::call::Observation;
use crate::envelope::{Entry, InvalidRequest};
use crate::format::{Encoding, encoding_of};
use crate::limits::{OutOfMemory, Reservation};
use crate::outcome::Outcome;
use crate::reply::Reply;

/// A parsed batch.
#[derive(Clone, Copy)]
pub(crate) struct BatchRequest<'a> {
    pub(crate) body: &'a Bytes,
    pub(crate) entries: &'a [Entry],
    pub(crate) encodings: &'a [Encoding],
}

/// The responses of a batch, joined in the order of the requests.
pub(super) struct Responses<'a> {
    request: BatchRequest<'a>,
    joined: Reply,
    /// The index of the next response to append.
    next: usize,
    /// The responses of later entries. Empty as long as calls end in order.
    waiting: BTreeMap<usize, Option<Reply>>,
    bytes: usize,
    budget: usize,
    /// Whether a response exceeded the size limit, after which no further call runs.
    pub(super) spent: bool,
    /// The observations of running calls.
    pub(super) observations: BTreeMap<usize, Arc<dyn Observation>>,
    /// Memory for the [current responses](Self::held) and the next one.
    memory: Reservation,
    /// The bytes of the waiting responses.
    waiting_bytes: usize,
    /// The number of entries without a response.
    unanswered: usize,
    /// Set when a response exceeded the memory budget. No further call runs.
    exhausted: Option<OutOfMemory>,
}

/// The memory reserved for each entry without a response, in bytes. Enough for an error response.
pub(super) const ENTRY: usize = 256;
/// The memory reserved before a call runs, in bytes. Enough for most responses.
const NEXT: usize = 16 << 10;

impl<'a> Responses<'a> {
    pub(super) fn new(request: BatchRequest<'a>, budget: usize, memory: Reservation) -> Self {
        let joined = Reply::array_for(request.entries.len());
        let (waiting, observations) = Default::default();
        Self {
            request,
            joined,
            next: 0,
            waiting,
            bytes: 0,
            budget,
            spent: false,
            observations,
            memory,
            waiting_bytes: 0,
            unanswered: request.entries.len(),
            exhausted: None,
        }
    }

    /// Reserves memory for the response of another call.
    pub(super) fn reserve_next(&mut self) -> Result<(), OutOfMemory> {
        self.exhausted.map_or(Ok(()), Err)?;
        self.reserve(NEXT)
    }

    /// Reserves `more` bytes in addition to what is held.
    fn reserve(&mut self, more: usize) -> Result<(), OutOfMemory> {
        let missing = (self.held() + more).saturating_sub(self.memory.bytes());
        self.memory.grow(missing)
    }

    fn held(&self) -> usize {
        self.joined.capacity() + self.waiting_bytes + self.unanswered * ENTRY
    }

    /// Adds the error response of an invalid entry. It is not subject to the size limit, since -32006 would not be
    /// smaller.
    pub(super) fn refuse(&mut self, index: usize, invalid: &InvalidRequest) {
        let response = self.response(index, Outcome::error(invalid.into()));
        self.put(index, response);
    }

    pub(super) fn set(&mut self, index: usize, outcome: Outcome) {
        let observation = self.observations.remove(&index);
        if let Some(json) = self.append_in_order(index, &outcome) {
            if let Some(observation) = observation {
                observation.end_with_response(Some(json), None);
            }
            return;
        }
        let mut code = outcome.code();
        let available = self.budget.saturating_sub(self.bytes);
        let mut response = None;
        // A result that is too large in JSON is not converted to another format.
        let fits = outcome.len() <= available && {
            response = self.response(index, outcome);
            response.as_ref().is_none_or(|found| found.text_len() <= available)
        };
        if !fits {
            response = self.too_large(index);
        } else if let Err(error) = self.reserve(response.as_ref().map_or(0, Reply::capacity)) {
            self.exhausted = Some(error);
            response = self.response(index, Outcome::error(error.reply_dropped()));
        }
        if let Some(found) = &response {
            code = found.code();
        }
        if let Some(observation) = observation {
            observation.end_with_response(response.as_ref().and_then(Reply::json), code);
        }
        self.put(index, response);
    }

    /// Appends a result directly, if it is the next one, is sent as JSON, and fits into the spare capacity.
    fn append_in_order(&mut self, index: usize, outcome: &Outcome) -> Option<&[u8]> {
        let is_json = self.request.encodings.is_empty();
        if index != self.next || !self.waiting.is_empty() || !is_json {
            return None;
        }
        let (id, result) = (self.id(index)?, outcome.as_result().ok()?);
        let json = self.joined.push_result(result, id, self.budget.saturating_sub(self.bytes))?;
        self.bytes += json.len();
        self.unanswered -= 1;
        self.next += 1;
        Some(json)
    }

    /// The response in place of one that exceeds the size limit. No further call runs after it.
    fn too_large(&mut self, index: usize) -> Option<Reply> {
        let response = self.response(index, Outcome::reply_too_large(self.budget));
        self.spent |= response.is_some();
        response
    }

    fn put(&mut self, index: usize, response: Option<Reply>) {
        self.bytes += response.as_ref().map_or(0, Reply::text_len);
        self.unanswered -= 1;
        if index != self.next {
            self.waiting_bytes += response.as_ref().map_or(0, Reply::capacity);
            self.waiting.insert(index, response);
            return;
        }
        self.append(response);
        while let Some(response) = self.waiting.remove(&self.next) {
            self.waiting_bytes -= response.as_ref().map_or(0, Reply::capacity);
            self.append(response);
        }
    }

    fn append(&mut self, response: Option<Reply>) {
        self.next += 1;
        let Some(response) = response else { return };
        let growth = self.joined.growth(&response);
        // Without memory for spare space, the buffer grows by this response only.
        if growth > 0 && self.reserve(response.capacity() + growth).is_ok() {
            self.joined.grow(&response);
        }
        self.joined.push(&response);
    }

    /// The response object of an outcome. `None` for a notification.
    fn response(&self, index: usize, outcome: Outcome) -> Option<Reply> {
        let id = self.id(index)?;
        let encoding = encoding_of(self.request.encodings, index);
        Some(Reply::encoded(outcome, id, encoding))
    }

    /// The id of the response. `None` for a notification.
    fn id(&self, index: usize) -> Option<&'a [u8]> {
        let BatchRequest { body, entries, .. } = self.request;
        match &entries[index] {
            Ok(request) => request.id.map(|id| id.of(body)),
            Err(invalid) => Some(invalid.id.map_or(b"null", |id| id.of(body))),
        }
    }

    pub(super) fn join(mut self) -> (Reply, Reservation) {
        self.memory.shrink(self.joined.capacity());
        (self.joined, self.memory)
    }
}
