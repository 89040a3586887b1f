use trunkline_core::call::Call;
use trunkline_core::dispatch::Batch;
use trunkline_core::error::ErrorObject;
use trunkline_core::format::Encoding;
use trunkline_core::id::Id;
use trunkline_core::outcome::Outcome;
use trunkline_core::reply::{Joined, Reply, Response};

/// What a message wants to be answered with.
#[derive(Debug)]
pub(super) enum Asked {
    /// Nothing: it is a notification.
    Nothing,
    /// A response.
    Call(Due),
    /// An array of responses.
    Batch(Vec<Due>),
}

/// A response with this id, in the format that goes along with it.
#[derive(Debug)]
pub(super) struct Due {
    id: Id,
    encoding: Option<Encoding>,
}

impl Asked {
    pub(super) fn by_call(call: &Call) -> Self {
        let due = |id| Due { id, encoding: call.encoding().cloned() };
        call.id().map_or(Self::Nothing, |id| Self::Call(due(id)))
    }

    pub(super) fn by_batch(batch: &Batch) -> Self {
        Self::Batch(batch.dues().map(|(id, encoding)| Due { id, encoding }).collect())
    }

    /// By what is no call.
    pub(super) fn by_unread(id: Option<Id>, encoding: Option<Encoding>) -> Self {
        Self::Call(Due { id: id.unwrap_or(Id::NULL), encoding })
    }

    /// The ids, of a batch those that can be told.
    pub(super) fn ids(&self) -> impl Iterator<Item = &Id> {
        let (call, batch) = match self {
            Self::Nothing => (None, [].as_slice()),
            Self::Call(due) => (Some(due), [].as_slice()),
            Self::Batch(dues) => (None, dues.as_slice()),
        };
        let told = batch.iter().filter(|due| due.id != Id::NULL);
        call.into_iter().chain(told).map(|due| &due.id)
    }

    /// The same error in answer to all that was asked.
    pub(super) fn refused(&self, error: &ErrorObject) -> Reply {
        match self {
            Self::Nothing => Reply::None,
            Self::Call(due) => due.refused(error).into_reply(),
            Self::Batch(dues) => {
                let mut joined = Joined::of(dues.len());
                dues.iter().for_each(|due| joined.push(&due.refused(error)));
                joined.end()
            }
        }
    }
}

impl Due {
    fn refused(&self, error: &ErrorObject) -> Response {
        let outcome = Outcome::error(error.clone());
        Response::of(outcome, self.id.as_raw().as_bytes(), self.encoding.as_ref())
    }
}
