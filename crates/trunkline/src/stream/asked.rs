use crate::error::ErrorObject;
use crate::id::Id;
use crate::outcome::Outcome;
use crate::rpc::Reply;

/// What a message wants to be answered with.
#[derive(Debug)]
pub(super) enum Asked {
    /// Nothing: it is a notification.
    Nothing,
    /// A response with this id.
    Call(Id),
    /// An array of responses with these ids.
    Batch(Vec<Id>),
}

impl Asked {
    /// The ids, of a batch those that can be told.
    pub(super) fn ids(&self) -> impl Iterator<Item = &Id> {
        let (call, batch) = match self {
            Self::Nothing => (None, [].as_slice()),
            Self::Call(id) => (Some(id), [].as_slice()),
            Self::Batch(ids) => (None, ids.as_slice()),
        };
        call.into_iter().chain(batch.iter().filter(|id| **id != Id::NULL))
    }

    /// The same error in answer to all that was asked.
    pub(super) fn refused(&self, error: &ErrorObject) -> Reply {
        match self {
            Self::Nothing => Reply::None,
            Self::Call(id) => Reply::of(Outcome::error(error.clone()), id),
            Self::Batch(ids) if ids.is_empty() => Reply::None,
            Self::Batch(ids) => {
                let response =
                    |id: &Id| Outcome::error(error.clone()).into_response(id.as_raw().as_bytes());
                let responses: Vec<Vec<u8>> = ids.iter().map(response).collect();
                let json = [b"[".as_slice(), &responses.join(&b','), b"]"].concat();
                Reply::Batch { json }
            }
        }
    }
}
