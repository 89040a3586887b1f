use std::sync::Arc;

use bytes::Bytes;

use crate::call::{Call, Observer};
use crate::envelope::{Entry, Span};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::format::{Encoding, Encodings};
use crate::id::Id;

/// A body that has been read, and of which nothing has been run.
#[derive(Debug)]
pub enum Incoming {
    /// A request or a notification.
    Call(Call),
    /// An array of them.
    Batch(Batch),
    /// A response, which only clients are sent.
    Response {
        /// What its sender is told.
        error: ErrorObject,
        /// The id that it has.
        id: Option<Id>,
    },
    /// None of them.
    Refused {
        /// What the sender is told.
        error: ErrorObject,
        /// The id that it sent, if one can be told.
        id: Option<Id>,
    },
}

/// A batch that has been read, with at least one entry.
#[derive(Debug)]
pub struct Batch {
    pub(super) body: Bytes,
    pub(super) entries: Vec<Entry>,
    pub(super) extensions: Extensions,
    pub(super) observer: Option<Arc<dyn Observer>>,
    pub(super) encodings: Encodings,
}

impl Batch {
    /// The ids that it is answered with, in its order: `null` where an entry is no request and has no
    /// id. Notifications have none.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.expected_replies().map(|(id, _)| id)
    }

    /// The same, with what goes along with them.
    pub fn expected_replies(&self) -> impl Iterator<Item = (Id, Option<Encoding>)> {
        let id = |span: Span| Id::from_raw(self.body.slice(span.range()));
        self.entries.iter().enumerate().filter_map(move |(index, entry)| {
            let id = match entry {
                Ok(request) => request.id.map(id)?,
                Err(invalid) => invalid.id.map_or(Id::NULL, id),
            };
            Some((id, self.encodings.of(index).cloned()))
        })
    }
}
