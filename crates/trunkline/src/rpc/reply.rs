use crate::error::ErrorObject;
use crate::id::Id;
use crate::outcome::Outcome;

/// What a body is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// Nothing: the body held notifications only.
    None,
    /// One response object.
    Single {
        /// The response's JSON text.
        json: Vec<u8>,
        /// The code, if the response is an error.
        code: Option<i64>,
    },
    /// An array of response objects.
    Batch {
        /// The array's JSON text.
        json: Vec<u8>,
    },
}

impl Reply {
    /// The response to the call with this id.
    #[must_use]
    pub fn of(outcome: Outcome, id: &Id) -> Self {
        let code = outcome.code();
        Self::Single { json: outcome.into_response(id.as_raw().as_bytes()), code }
    }

    /// An error in answer to what is no call. JSON-RPC 2.0 wants the id `null` where it cannot be
    /// told (section 5); protocols on top of it want none.
    #[must_use]
    pub fn error(error: ErrorObject, id: Option<&Id>) -> Self {
        let code = Some(error.code());
        let outcome = Outcome::error(error);
        let json = match id {
            Some(id) => outcome.into_response(id.as_raw().as_bytes()),
            None => outcome.into_response_without_id(),
        };
        Self::Single { json, code }
    }

    /// The reply's JSON text, if there is a reply.
    #[must_use]
    pub fn into_json(self) -> Option<Vec<u8>> {
        match self {
            Self::None => None,
            Self::Single { json, .. } | Self::Batch { json } => Some(json),
        }
    }
}
