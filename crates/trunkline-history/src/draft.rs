use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use trunkline_core::call::RegisteredOperation;
use trunkline_core::extensions::Extensions;
use trunkline_core::id::Id;
use trunkline_core::outcome::{ERROR, Outcome, RESULT};

use super::entry::{Entry, Kind, Status, short};
use super::redaction::Passage;
use super::text::{Rules, Text};
use crate::history::History;
use trunkline_access::Principal;
use trunkline_core::trace_context::TraceContext;

/// An incomplete entry.
pub(super) struct Draft {
    history: History,
    /// Not shared until it is added.
    entry: Arc<Entry>,
    started: Instant,
    /// The remaining bytes for the texts of the entry.
    budget: usize,
}

impl Draft {
    pub(super) fn new(history: &History, extensions: &Extensions) -> Self {
        let trace = TraceContext::of(extensions);
        let principal = Principal::of(extensions);
        let entry = Entry {
            sequence: 0,
            kind: Kind::Call,
            time: SystemTime::now(),
            duration: Duration::ZERO,
            endpoint: extensions.endpoint(),
            protocol: extensions.protocol(),
            method: None,
            operation: None,
            id: None,
            principal: principal.map(|principal| short(principal.name())),
            issuer: principal.and_then(Principal::issuer).map(short),
            notification: false,
            batch_index: None,
            status: Status::Result,
            code: None,
            trace_id: trace.map(TraceContext::trace_id),
            request: None,
            response: None,
            stream: None,
            stream_bytes: None,
        };
        let budget = history.0.entry_bytes;
        let entry = Arc::new(entry);
        Self { history: history.clone(), entry, started: Instant::now(), budget }
    }

    pub(super) fn entry(&mut self) -> &mut Entry {
        Arc::make_mut(&mut self.entry)
    }

    /// Stores the request. `operation` is its operation, if known.
    /// Replaces an earlier one.
    pub(super) fn request(&mut self, text: &[u8], operation: Option<Arc<RegisteredOperation>>) {
        self.budget = self.history.0.entry_bytes;
        let request = Text::new(Passage::whole(text), self.rules(operation, self.budget / 2));
        self.budget = self.budget.saturating_sub(request.weight());
        self.entry().request = Some(request);
    }

    /// Adds the entry with its outcome, and with the response to `id` if there is an id. A response of more
    /// than `reply_bytes` bytes becomes the error -32006.
    pub(super) fn end(self, outcome: &Outcome, id: Option<&Id>, reply_bytes: usize) {
        let Some(id) = id else {
            return self.end_as(None, outcome.code());
        };
        let tail = format!(",\"id\":{id}}}");
        let (start, body) = response(outcome);
        let passage = Passage { start, body: &body, end: tail.as_bytes() };
        if passage.len() > reply_bytes {
            return self.end(&Outcome::reply_too_large(reply_bytes), Some(id), usize::MAX);
        }
        self.end_as(Some(passage), outcome.code());
    }

    /// Adds the entry with its response and error code.
    pub(super) fn end_as(mut self, response: Option<Passage<'_>>, code: Option<i64>) {
        let text = |passage| Text::new(passage, self.rules(None, self.budget));
        let response = response.map(text);
        let entry = self.entry();
        entry.response = response;
        if code.is_some() {
            (entry.status, entry.code) = (Status::Error, code);
        }
        self.add();
    }

    /// Adds the entry and returns its number.
    pub(super) fn add(mut self) -> u64 {
        self.entry().duration = self.started.elapsed();
        self.history.add(self.entry)
    }

    fn rules(&self, operation: Option<Arc<RegisteredOperation>>, limit: usize) -> Rules {
        let redaction = self.history.redaction();
        // Only hooks use the method.
        let method = self.entry.method.as_deref().filter(|_| redaction.has_hooks());
        Rules { method: method.unwrap_or_default().into(), redaction, operation, limit }
    }
}

/// A response up to its id: the beginning, and the result or error.
fn response(outcome: &Outcome) -> (&'static [u8], Cow<'_, [u8]>) {
    match outcome.as_result() {
        Ok(result) => (RESULT, Cow::Borrowed(result)),
        Err(error) => {
            let mut json = Vec::new();
            error.write_to(&mut json);
            (ERROR, Cow::Owned(json))
        }
    }
}
