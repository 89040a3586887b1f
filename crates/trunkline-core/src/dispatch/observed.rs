//! What the engine tells an observer.

use std::sync::Arc;

use bytes::Bytes;

use super::{Batch, Dispatcher};
use crate::call::{Arrival, Call, Observer};
use crate::envelope::{Elements, InvalidRequest, Span};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::id::Id;

impl Dispatcher {
    /// This service, whose calls are watched.
    pub fn observed(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// What watches the calls of this service.
    pub fn observer(&self) -> Option<&dyn Observer> {
        self.observer.as_deref()
    }

    /// Begins the record of a call that is all of its body.
    pub(super) fn record_single(&self, call: &mut Call) {
        if let Some(observer) = self.observer() {
            let text = call.body().clone();
            call.observe(observer, self.arrival(text.trim_ascii(), None));
        }
    }

    /// Begins the record of a call that was made in this process, where no reply is too large.
    pub(super) fn record_own(&self, call: &mut Call) {
        if let Some(observer) = self.observer() {
            let text = call.message();
            let arrival = Arrival { reply_bytes: usize::MAX, ..self.arrival(&text, None) };
            call.observe(observer, arrival);
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
        if let Some(observer) = self.observer() {
            observer.refuse(extensions, self.arrival(body.trim_ascii(), None), error, id);
        }
    }

    /// The members of a batch, for the record; none if there is no record.
    pub(super) fn members(&self, batch: &Batch) -> Option<Members<'_>> {
        let observer = self.observer()?;
        let mut elements = Elements::new(&batch.body);
        let spans = std::iter::from_fn(|| elements.next_span()).collect();
        let members = Members { dispatcher: self, observer, spans };
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
    /// be [answered](Dispatcher::answer_batch).
    pub fn refuse(self, error: &ErrorObject) {
        if let Some(observer) = &self.observer {
            let text = self.body.trim_ascii();
            let arrival = Arrival { text, batch_index: None, reply_bytes: usize::MAX };
            observer.refuse(&self.extensions, arrival, error, None);
        }
    }
}

/// Where the members of a batch stand in its body.
pub(super) struct Members<'a> {
    dispatcher: &'a Dispatcher,
    observer: &'a dyn Observer,
    spans: Vec<Span>,
}

impl Members<'_> {
    /// Begins the record of a member that is a call.
    pub(super) fn record(&self, index: usize, call: &mut Call) {
        let body = call.body().clone();
        // The budget of bytes is that of the batch, which knows it.
        let arrival = Arrival {
            reply_bytes: usize::MAX,
            ..self.dispatcher.arrival(self.text(&body, index), Some(index))
        };
        call.observe(self.observer, arrival);
    }

    fn invalid(&self, index: usize, invalid: &InvalidRequest, batch: &Batch) {
        let id = invalid.id.map(|span| Id::from_raw(batch.body.slice(span.range())));
        let arrival = self.dispatcher.arrival(self.text(&batch.body, index), Some(index));
        self.observer.refuse(&batch.extensions, arrival, &invalid.into(), id.as_ref());
    }

    fn text<'b>(&self, body: &'b Bytes, index: usize) -> &'b [u8] {
        self.spans.get(index).map_or(&[], |span| span.of(body))
    }
}
