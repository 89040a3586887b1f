use http::StatusCode;
use trunkline::client::Error;

/// Why a call has no result, and what HTTP said, if it said anything.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(crate) struct CallError {
    pub(crate) error: Error,
    pub(crate) status: Option<StatusCode>,
}

impl CallError {
    pub(crate) fn new(error: impl Into<Error>, status: Option<StatusCode>) -> Self {
        Self { error: error.into(), status }
    }
}
