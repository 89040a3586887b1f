use std::collections::BTreeMap;

use bytes::Bytes;

use crate::call::Recording;
use crate::envelope::{Entry, InvalidRequest};
use crate::format::Encodings;
use crate::limits::{OutOfMemory, Reservation};
use crate::outcome::Outcome;
use crate::reply::{Reply, Response, ResponseArray};

/// A batch that was read.
#[derive(Clone, Copy)]
pub(crate) struct BatchRequest<'a> {
    pub(crate) body: &'a Bytes,
    pub(crate) entries: &'a [Entry],
    pub(crate) encodings: &'a Encodings,
}

/// The responses of a batch, joined in the order of the requests.
pub(super) struct Responses<'a> {
    asked: BatchRequest<'a>,
    joined: ResponseArray,
    /// The entry whose response is joined next.
    next: usize,
    /// What later entries are answered with. Empty as long as calls end in their order.
    waiting: BTreeMap<usize, Option<Response>>,
    bytes: usize,
    budget: usize,
    /// Whether a response was over the budget: then nothing further is run.
    pub(super) spent: bool,
    /// Of the calls that have not ended.
    pub(super) recordings: BTreeMap<usize, Recording>,
    /// Memory for the [responses so far](Self::held) and for the next one.
    memory: Reservation,
    /// The bytes of those that wait.
    waiting_bytes: usize,
    /// Entries without a response.
    unanswered: usize,
    /// Set when a response exceeded the memory budget. No further member runs.
    exhausted: Option<OutOfMemory>,
}

/// The memory reserved for each entry without a response, in bytes. A refusal fits.
pub(super) const ENTRY: usize = 256;
/// The memory reserved before a member runs, in bytes. Most responses fit.
const NEXT: usize = 16 << 10;

impl<'a> Responses<'a> {
    pub(super) fn new(asked: BatchRequest<'a>, budget: usize, memory: Reservation) -> Self {
        let joined = ResponseArray::of(asked.entries.len());
        let (waiting, recordings) = Default::default();
        Self {
            asked,
            joined,
            next: 0,
            waiting,
            bytes: 0,
            budget,
            spent: false,
            recordings,
            memory,
            waiting_bytes: 0,
            unanswered: asked.entries.len(),
            exhausted: None,
        }
    }

    /// Reserves memory for the response of one more member.
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

    /// Refusals are small, and -32006 in their place would be no smaller: they always fit.
    pub(super) fn refuse(&mut self, index: usize, invalid: &InvalidRequest) {
        let response = self.response(index, Outcome::error(invalid.into()));
        self.put(index, response);
    }

    pub(super) fn set(&mut self, index: usize, outcome: Outcome) {
        let recording = self.recordings.remove(&index);
        if let Some(json) = self.append_in_order(index, &outcome) {
            if let Some(recording) = recording {
                recording.end_with_response(Some(json), None);
            }
            return;
        }
        let mut code = outcome.code();
        let room = self.budget.saturating_sub(self.bytes);
        let mut response = None;
        // What is too large in JSON is not written in another format to be dropped.
        let fits = outcome.len() <= room && {
            response = self.response(index, outcome);
            response.as_ref().is_none_or(|found| found.len() <= room)
        };
        if !fits {
            response = self.too_large(index);
        } else if let Err(error) = self.reserve(response.as_ref().map_or(0, Response::capacity)) {
            self.exhausted = Some(error);
            response = self.response(index, Outcome::error(error.reply_dropped()));
        }
        if let Some(found) = &response {
            code = found.code;
        }
        if let Some(recording) = recording {
            recording.end_with_response(response.as_ref().map(|response| &*response.json), code);
        }
        self.put(index, response);
    }

    /// Appends the response with a result, if it is the next one, in JSON, and fits in the spare space.
    fn append_in_order(&mut self, index: usize, outcome: &Outcome) -> Option<&[u8]> {
        let is_json = matches!(self.asked.encodings, Encodings::Json);
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

    /// In place of what the budget has no room for. Nothing is run after it.
    fn too_large(&mut self, index: usize) -> Option<Response> {
        let response = self.response(index, Outcome::reply_too_large(self.budget));
        self.spent |= response.is_some();
        response
    }

    fn put(&mut self, index: usize, response: Option<Response>) {
        self.bytes += response.as_ref().map_or(0, Response::len);
        self.unanswered -= 1;
        if index != self.next {
            self.waiting_bytes += response.as_ref().map_or(0, Response::capacity);
            self.waiting.insert(index, response);
            return;
        }
        self.append(response);
        while let Some(response) = self.waiting.remove(&self.next) {
            self.waiting_bytes -= response.as_ref().map_or(0, Response::capacity);
            self.append(response);
        }
    }

    fn append(&mut self, response: Option<Response>) {
        self.next += 1;
        let Some(response) = response else { return };
        let growth = self.joined.growth(&response);
        // Without memory for spare space, the buffer grows by this response only.
        if growth > 0 && self.reserve(response.capacity() + growth).is_ok() {
            self.joined.grow(&response);
        }
        self.joined.push(&response);
    }

    /// The response that an outcome is; none to a notification.
    fn response(&self, index: usize, outcome: Outcome) -> Option<Response> {
        let id = self.id(index)?;
        let encoding = self.asked.encodings.of(index);
        Some(Response::of(outcome, id, encoding))
    }

    /// The id to answer with; a notification has none.
    fn id(&self, index: usize) -> Option<&'a [u8]> {
        let BatchRequest { body, entries, .. } = self.asked;
        match &entries[index] {
            Ok(request) => request.id.map(|id| id.of(body)),
            Err(invalid) => Some(invalid.id.map_or(b"null", |id| id.of(body))),
        }
    }

    pub(super) fn join(mut self) -> (Reply, Reservation) {
        self.memory.shrink(self.joined.capacity());
        (self.joined.end(), self.memory)
    }
}
