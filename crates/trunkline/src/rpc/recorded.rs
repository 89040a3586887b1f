//! What the engine tells a history.

use bytes::Bytes;

use super::{Batch, Rpc};
use crate::call::Call;
use crate::envelope::{InvalidRequest, ScanError, Scanner, Span};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::history::{Arrival, History, Recording};
use crate::id::Id;

impl Rpc {
    /// This service with a record of what it is asked and what it answers. See
    /// [`history`](crate::history).
    #[must_use]
    pub fn recorded(mut self, history: History) -> Self {
        self.history = Some(history);
        self
    }

    /// The record of this service, if it keeps one.
    #[must_use]
    pub fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// Begins the record of a call that is all of its body.
    pub(super) fn record_single(&self, call: &mut Call) {
        if let Some(history) = &self.history {
            let text = call.body().clone();
            let arrival = self.arrival(text.trim_ascii(), None);
            let recording = Recording::begin(history, call, arrival);
            call.record(recording);
        }
    }

    /// Begins the record of a call that was made in this process, where no reply is too large.
    pub(super) fn record_own(&self, call: &mut Call) {
        if let Some(history) = &self.history {
            let text = call.message();
            let arrival = Arrival { reply_bytes: usize::MAX, ..self.arrival(&text, None) };
            let recording = Recording::begin(history, call, arrival);
            call.record(recording);
        }
    }

    /// Records a body that is no call.
    pub(super) fn record_invalid(
        &self,
        body: &[u8],
        extensions: &Extensions,
        error: &ErrorObject,
        id: Option<&Id>,
    ) {
        if let Some(history) = &self.history {
            history.invalid(extensions, self.arrival(body.trim_ascii(), None), error, id);
        }
    }

    /// The members of a batch, for the record; none if there is no record.
    pub(super) fn members(&self, batch: &Batch) -> Option<Members<'_>> {
        let history = self.history.as_ref()?;
        let members = Members { rpc: self, history, spans: spans(&batch.body) };
        for (index, entry) in batch.entries.iter().enumerate() {
            if let Err(invalid) = entry {
                members.invalid(index, invalid, batch);
            }
        }
        Some(members)
    }

    fn arrival<'a>(&self, text: &'a [u8], batch_index: Option<usize>) -> Arrival<'a> {
        Arrival { text, batch_index, reply_bytes: self.limits.reply_bytes }
    }
}

impl Batch {
    /// Records that a door refuses the whole batch, and with what. It need not, if it lets the batch
    /// be [answered](Rpc::answer_batch).
    pub fn refuse(self, error: &ErrorObject) {
        if let Some(history) = &self.history {
            let text = self.body.trim_ascii();
            let arrival = Arrival { text, batch_index: None, reply_bytes: usize::MAX };
            history.invalid(&self.extensions, arrival, error, None);
        }
    }
}

/// Where the members of a batch stand in its body.
pub(super) struct Members<'a> {
    rpc: &'a Rpc,
    history: &'a History,
    spans: Vec<Span>,
}

impl Members<'_> {
    /// Begins the record of a member that is a call.
    pub(super) fn record(&self, index: usize, call: &mut Call) {
        let body = call.body().clone();
        // The budget of bytes is that of the batch, which knows it.
        let arrival = Arrival {
            reply_bytes: usize::MAX,
            ..self.rpc.arrival(self.text(&body, index), Some(index))
        };
        let recording = Recording::begin(self.history, call, arrival);
        call.record(recording);
    }

    fn invalid(&self, index: usize, invalid: &InvalidRequest, batch: &Batch) {
        let id = invalid.id.map(|span| Id::from_raw(batch.body.slice(span.range())));
        let arrival = self.rpc.arrival(self.text(&batch.body, index), Some(index));
        self.history.invalid(&batch.extensions, arrival, &invalid.into(), id.as_ref());
    }

    fn text<'b>(&self, body: &'b Bytes, index: usize) -> &'b [u8] {
        self.spans.get(index).map_or(&[], |span| span.of(body))
    }
}

/// The places of an array's elements in a text that was read as an array.
fn spans(text: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    // Its depth was checked when it was read.
    let mut scanner = Scanner::starting_at(text, 0);
    scanner.peek();
    let read = scanner.array(|scanner| {
        spans.push(scanner.value()?.1);
        Ok::<_, ScanError>(())
    });
    debug_assert!(read.is_ok(), "a batch was read before");
    spans
}
