//! Notifications of the observer.

use std::sync::Arc;

use bytes::Bytes;

use super::{Batch, Dispatcher};
use crate::call::{Call, MessageInfo, Observer};
use crate::envelope::{Elements, InvalidRequest, Span};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::id::Id;

impl Dispatcher {
    /// Sets the observer of calls.
    pub fn with_observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The observer of calls.
    pub fn observer(&self) -> Option<&dyn Observer> {
        self.observer.as_deref()
    }

    /// Starts the observation of a call that is the whole body.
    pub(super) fn observe_single(&self, call: &mut Call) {
        if let Some(observer) = self.observer() {
            let text = call.body().clone();
            call.observe(observer, self.message(text.trim_ascii(), None));
        }
    }

    /// Starts the observation of a call that was made in this process, where replies have no size limit.
    pub(super) fn observe_own(&self, call: &mut Call) {
        if let Some(observer) = self.observer() {
            let text = call.message();
            let message = MessageInfo { reply_bytes: usize::MAX, ..self.message(&text, None) };
            call.observe(observer, message);
        }
    }

    /// Reports an invalid body.
    pub(super) fn observe_invalid(
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

    /// The entries of a batch, for the observer. `None` without an observer.
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
    /// Reports that a transport rejects the whole batch with `error`. Not needed for a batch that is
    /// [processed](Dispatcher::answer_batch).
    pub fn refuse(self, error: &ErrorObject) {
        if let Some(observer) = &self.observer {
            let text = self.body.trim_ascii();
            let message = MessageInfo { text, batch_index: None, reply_bytes: usize::MAX };
            observer.refuse(&self.extensions, message, error, None);
        }
    }
}

/// The spans of the entries of a batch.
pub(super) struct Members<'a> {
    dispatcher: &'a Dispatcher,
    observer: &'a dyn Observer,
    spans: Vec<Span>,
}

impl Members<'_> {
    /// Starts the observation of a call of the batch.
    pub(super) fn observe(&self, index: usize, call: &mut Call) {
        let body = call.body().clone();
        let text = match call.converted_message() {
            Some(_) => &body,
            None => self.text(&body, index),
        };
        // The size limit applies to the batch as a whole, and is checked there.
        let message =
            MessageInfo { reply_bytes: usize::MAX, ..self.dispatcher.message(text, Some(index)) };
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
