use std::sync::Arc;

use bytes::Bytes;

use crate::call::{Call, Observer};
use crate::envelope::{Entry, Span};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::format::{Encoding, encoding_of};
use crate::id::Id;

/// A parsed body that has not been run.
#[derive(Debug)]
pub enum Incoming {
    /// A request or a notification.
    Call(Call),
    /// A batch.
    Batch(Batch),
    /// A response, which only protocols with requests to the client expect.
    Response {
        /// The JSON text.
        body: Bytes,
        /// The error for the sender.
        error: ErrorObject,
        /// The id of the response.
        id: Option<Id>,
    },
    /// An invalid body.
    Refused {
        /// The error for the sender.
        error: ErrorObject,
        /// The id, if the body is JSON and the id is valid.
        id: Option<Id>,
        /// The body.
        body: Bytes,
    },
}

/// A parsed batch, with at least one entry.
#[derive(Debug)]
pub struct Batch {
    pub(super) body: Bytes,
    pub(super) entries: Vec<Entry>,
    pub(super) extensions: Extensions,
    pub(super) observer: Option<Arc<dyn Observer>>,
    pub(super) encodings: Vec<Encoding>,
}

impl Batch {
    /// The ids of the expected responses, in order: `null` for an invalid entry without an id, and none for a
    /// notification.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.expected_replies().map(|(id, _)| id)
    }

    /// The names of the called methods, in order, without invalid entries.
    pub fn methods(&self) -> impl Iterator<Item = String> {
        let requests = self.entries.iter().filter_map(|entry| entry.as_ref().ok());
        requests.map(|request| request.method.unescape(&self.body))
    }

    /// The ids of the expected responses, with their encodings.
    pub fn expected_replies(&self) -> impl Iterator<Item = (Id, Option<Encoding>)> {
        let id = |span: Span| Id::from_raw(self.body.slice(span.range()));
        self.entries.iter().enumerate().filter_map(move |(index, entry)| {
            let id = match entry {
                Ok(request) => request.id.map(id)?,
                Err(invalid) => invalid.id.map_or(Id::NULL, id),
            };
            Some((id, encoding_of(&self.encodings, index).cloned()))
        })
    }
}
