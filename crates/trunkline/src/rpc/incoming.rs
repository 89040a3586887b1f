use bytes::Bytes;

use crate::call::Call;
use crate::envelope::Entry;
use crate::error::ErrorObject;
use crate::extensions::Extensions;
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
}
