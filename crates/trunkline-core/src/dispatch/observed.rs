//! What the engine tells an observer.

use std::sync::Arc;

use bytes::Bytes;

use super::{Batch, Dispatcher};
use crate::call::{Call, MessageInfo, Observer};
use crate::envelope::{Elements, InvalidRequest, Span};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::id::Id;

impl Dispatcher {
    /// This service, whose calls are watched.
    pub fn with_observer(mut self, observer: Arc<dyn Observer>) -> Self {
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
            call.observe(observer, self.message(text.trim_ascii(), None));
        }
    }

    /// Begins the record of a call that was made in this process, where no reply is too large.
    pub(super) fn record_own(&self, call: &mut Call) {
        if let Some(observer) = self.observer() {
            let text = call.message();
            let message = MessageInfo { reply_bytes: usize::MAX, ..self.message(&text, None) };
            call.observe(observer, message);
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
            observer.refuse(extensions, self.message(body.trim_ascii(), None), error, id);
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

    fn message<'a>(&self, text: &'a [u8], batch_index: Option<usize>) -> MessageInfo<'a> {
        MessageInfo { text, batch_index, reply_bytes: self.limits.reply_bytes }
    }
}

impl Batch {
    /// Records that a door refuses the whole batch, and with what. It need not, if it lets the batch
    /// be [answered](Dispatcher::answer_batch).
    pub fn refuse(self, error: &ErrorObject) {
        if let Some(observer) = &self.observer {
            let text = self.body.trim_ascii();
            let message = MessageInfo { text, batch_index: None, reply_bytes: usize::MAX };
            observer.refuse(&self.extensions, message, error, None);
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
        let message = MessageInfo {
            reply_bytes: usize::MAX,
            ..self.dispatcher.message(self.text(&body, index), Some(index))
        };
        call.observe(self.observer, message);
    }

    fn invalid(&self, index: usize, invalid: &InvalidRequest, batch: &Batch) {
        let id = invalid.id.map(|span| Id::from_raw(batch.body.slice(span.range())));
        let message = self.dispatcher.message(self.text(&batch.body, index), Some(index));
        self.observer.refuse(&batch.extensions, message, &invalid.into(), id.as_ref());
    }

    fn text<'b>(&self, body: &'b Bytes, index: usize) -> &'b [u8] {
        self.spans.get(index).map_or(&[], |span| span.of(body))
    }
}
