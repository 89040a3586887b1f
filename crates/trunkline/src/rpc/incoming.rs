use bytes::Bytes;

use super::Reply;
use crate::call::Call;
use crate::envelope::Entry;
use crate::extensions::Extensions;

/// A body that has been read, and of which nothing has been run.
#[derive(Debug)]
pub enum Incoming {
    /// A request or a notification.
    Call(Call),
    /// An array of them.
    Batch(Batch),
    /// Neither: this is what it is answered with.
    Refused(Reply),
}

/// A batch that has been read, with at least one entry.
#[derive(Debug)]
pub struct Batch {
    pub(super) body: Bytes,
    pub(super) entries: Vec<Entry>,
    pub(super) extensions: Extensions,
}
